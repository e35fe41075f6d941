// The frame that is selected: its facts, what it is joined to, its message, its bytes.
// A field and its bytes light each other.

const BYTES_A_LINE = 16;
const detail = { fields: [], chosen: -1, bytes: null, hidden: [] };

function showDetail(i) {
  const facts = byId("facts"), message = byId("message"), bytes = byId("bytes");
  facts.replaceChildren();
  message.replaceChildren();
  bytes.replaceChildren();
  message.scrollTop = bytes.scrollTop = 0;
  Object.assign(detail, { fields: [], chosen: -1, bytes: null, hidden: [] });
  if (i < 0) {
    message.append(make("p", "none", count ? "No frame is selected." : "The capture holds no frame."));
    return;
  }
  const [record, contents] = details(i);
  drawFacts(facts, i, record);
  drawMessage(message, contents, record);
  drawBytes(bytes, contents);
}

function drawFacts(facts, i, record) {
  const title = named(frames.name[i]) || named(frames.kind[i]) || "no type";
  facts.append(make("h2", "", title, make("small", "", "frame " + frames.number[i])));
  const line = (...parts) => {
    const shown = parts.filter(([, value]) => value !== "" && value !== null && value !== undefined);
    const element = make("div", "line");
    shown.forEach(([name, value], n) => element.append(make("b", "", (n ? " · " : "") + (name ? name + " " : "")), clean(value)));
    if (shown.length) facts.append(element);
  };
  const at = frames.time[i];
  line(["", frames.sent[i] ? "→ request" : "← response"], ["", named(frames.type[i])], ["", named(frames.rpc[i])]);
  line(
    ["", at === null ? "" : seconds(at) + " s"], ["", record && record.ts], ["call", frames.call[i]],
    ["", record && record.conn], ["stream", record && record.stream],
  );
  line(
    ["", group(frames.length[i]) + " bytes"], ["flags", record && record.flags],
    ["", frames.flags[i] & 4 ? "compressed, " + group(frames.wire[i]) + " sent" : ""],
    ["offset", record && record.offset], ["at", record && record.at], ["", isRepeated(i) ? "sent before" : ""],
  );
  const pairs = make("div", "pairs");
  const jump = (text, frame, bad) => {
    const button = make("button", "jump" + (bad ? " bad" : ""), text);
    button.type = "button";
    if (placeOf.has(frame)) button.dataset.jump = frame; else button.disabled = true;
    pairs.append(button);
  };
  for (const link of opens.get(frames.number[i]) || []) {
    if (link.responses.length) {
      jump("answered by #" + link.responses[0] + (link.wait !== null ? " after " + duration(link.wait) : "") +
        (link.state === "answered" ? "" : " · " + link.state), link.responses[0], link.state !== "answered");
    } else if (link.state !== "answered") {
      pairs.append(make("span", "jump bad", link.name + " " + link.state));
    }
  }
  for (const link of answers.get(frames.number[i]) || []) {
    if (link.request >= 0 && link.request !== frames.number[i]) jump("answers #" + link.request, link.request, link.state === "mismatch");
  }
  facts.append(pairs);
  for (const finding of findingsOf.get(frames.number[i]) || []) {
    const told = make("div", "told s" + finding.severity, make("code", "", finding.code), " ");
    told.append(clean((finding.path ? finding.path + ": " : "") + finding.text));
    facts.append(told);
  }
}

function drawMessage(box, contents, record) {
  if (contents && contents.tree) {
    contents.tree.forEach(([depth, name, type, number, value, remark, tag, start, end, opened]) => {
      detail.fields.push({ depth, name: name === null ? String(number) : name, type, number, value, remark, tag, start, end });
      if (opened) derived(opened, depth + 1);
    });
  } else if (contents && contents.message !== undefined) {
    members(contents.message, 0);
  } else if (!contents) {
    box.append(make("p", "none", "What this frame holds was left out: the report is at its limit."));
  }
  if (contents && !detail.fields.length) box.append(make("div", "section", "an empty message"));
  const facts = detail.fields.length;
  if (record) {
    const about = {};
    for (const key of ["ids", "carrier", "http"]) {
      const value = record[key];
      if (value && Object.keys(value).length) about[key] = value;
    }
    members(about, 0);
  }
  detail.fields.forEach((field, n) => {
    if (n === facts) box.append(make("div", "section", "around it"));
    const next = detail.fields[n + 1];
    field.open = !(field.depth === 0 && n >= facts && field.name === "http");
    field.parent = !!next && n + 1 !== facts && next.depth > field.depth;
    field.row = fieldRow(field, n);
    box.append(field.row);
  });
  refold();
}

/** What an encoding inside a field holds: it has no bytes of its own in the frame. */
function derived(opened, depth) {
  const about = [opened.$encoding, opened.$type].filter(Boolean).join(" · ");
  detail.fields.push({ depth, name: "opened", type: about, value: "", remark: "", derived: true });
  members(opened.$value, depth + 1);
}

function members(value, depth) {
  if (value === null || typeof value !== "object") {
    detail.fields.push({ depth, name: "", type: "", value: shown(value), remark: "", derived: true });
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    const nested = inner !== null && typeof inner === "object";
    const about = Array.isArray(inner) ? plural(inner.length, "item") : "";
    detail.fields.push({ depth, name: key, type: "", value: nested ? "" : shown(inner), remark: about, derived: true });
    if (nested && depth < 40) members(inner, depth + 1);
  }
}

const shown = (value) => (typeof value === "string" ? JSON.stringify(value).replace(/\\n/g, "\n").replace(/\\"/g, '"') : String(value));

function fieldRow(field, n) {
  const row = make("div", "field" + (field.derived ? " derived" : ""));
  row.dataset.field = n;
  row.style.paddingLeft = 8 + field.depth * 14 + "px";
  row.append(make("span", "fold", field.parent ? (field.open ? "▾" : "▸") : ""), make("span", "key", field.name));
  if (field.type) row.append(make("span", "type", (field.number ? field.number + " " : "") + field.type));
  const text = field.value;
  if (text !== "") {
    const kind = text === "[redacted]" || text === '"[redacted]"' ? "secret" : text.startsWith('"') ? "" : field.type === "bytes" || field.type === "len" ? "bytes" : "number";
    row.append(make("span", "value " + kind, text));
  }
  if (field.remark) row.append(make("span", "remark", field.remark));
  return row;
}

function refold() {
  let closed = Infinity;
  for (const field of detail.fields) {
    field.row.hidden = field.depth > closed;
    if (field.depth > closed) continue;
    closed = field.parent && !field.open ? field.depth : Infinity;
    if (field.parent) field.row.firstChild.textContent = field.open ? "▾" : "▸";
  }
}

function fold(n, open) {
  const field = detail.fields[n];
  if (!field || !field.parent) return false;
  field.open = open === undefined ? !field.open : open;
  refold();
  return true;
}

/** Selects a field and lights its bytes. */
function selectField(n) {
  const before = detail.fields[detail.chosen];
  if (before) before.row.classList.remove("chosen");
  detail.chosen = n;
  const field = detail.fields[n];
  if (field) {
    field.row.classList.add("chosen");
    field.row.scrollIntoView({ block: "nearest" });
  }
  lightBytes(field && field.tag !== undefined ? [field.tag, field.end] : null);
}

function moveField(step) {
  let n = detail.chosen;
  do n += step; while (detail.fields[n] && detail.fields[n].row.hidden);
  if (detail.fields[n]) selectField(n);
}

function drawBytes(box, contents) {
  if (!contents) return;
  const raw = atob(contents.payload);
  detail.bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
  detail.hidden = contents.hidden || [];
  detail.length = contents.length;
  lightBytes(null);
}

/** Draws the dump with a range lit: few elements, since most of a line is of one sort. */
function lightBytes(range) {
  const box = byId("bytes"), bytes = detail.bytes;
  if (!bytes) return box.replaceChildren();
  const hidden = (at) => detail.hidden.some(([from, to]) => at >= from && at < to);
  const lit = (at) => range !== null && at >= range[0] && at < range[1];
  const out = document.createDocumentFragment();
  let first = null;
  for (let at = 0; at < bytes.length; at += BYTES_A_LINE) {
    out.append(make("span", "at", at.toString(16).padStart(6, "0") + "  "));
    for (const part of ["hex", "text"]) {
      let run = "", sort = "";
      const flush = () => {
        if (!run) return;
        const element = sort === "lit" ? document.createElement("mark") : make("span", sort === "secret" ? "secret" : part);
        element.textContent = run;
        if (sort === "lit" && !first) first = element;
        out.append(element);
        run = "";
      };
      for (let k = 0; k < BYTES_A_LINE; k++) {
        const place = at + k, there = place < bytes.length;
        const next = !there ? "" : lit(place) ? "lit" : hidden(place) ? "secret" : "";
        if (next !== sort) { flush(); sort = next; }
        const gap = part === "hex" ? (k === 7 ? "  " : " ") : "";
        let shown = part === "hex" ? "  " : "";
        if (there && hidden(place)) shown = part === "hex" ? "··" : "·";
        else if (there && part === "hex") shown = bytes[place].toString(16).padStart(2, "0");
        else if (there) shown = bytes[place] >= 0x20 && bytes[place] < 0x7f ? String.fromCharCode(bytes[place]) : ".";
        // A lit run ends with its last byte, not with the gap after it.
        if (sort === "lit" && gap && !lit(place + 1)) { run += shown; flush(); sort = ""; run = gap; } else run += shown + gap;
      }
      flush();
      out.append(part === "hex" ? " " : "\n");
    }
  }
  if (detail.length > bytes.length) {
    out.append(make("p", "", "The first " + plural(bytes.length, "byte") + " of " + group(detail.length) + "; the report shows no more of one message."));
  }
  if (!detail.length) out.append(make("p", "", "no bytes"));
  box.replaceChildren(out);
  if (first) {
    const top = first.offsetTop - box.offsetTop;
    if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 20) box.scrollTop = top - box.clientHeight / 3;
  }
}

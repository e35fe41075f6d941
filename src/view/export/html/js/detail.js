// The frame that is selected: its facts, what it is joined to, its message.

const detail = { fields: [], chosen: -1, bytes: null, hidden: [], byte: -1 };

function showDetail(i) {
  const facts = byId("facts"), message = byId("message"), bytes = byId("bytes");
  facts.replaceChildren();
  message.replaceChildren();
  bytes.replaceChildren();
  message.scrollTop = bytes.scrollTop = 0;
  Object.assign(detail, { fields: [], chosen: -1, bytes: null, hidden: [], byte: -1 });
  tellWhere(null);
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

/** Selects a field and lights its bytes; quietly, what is in sight of them stays where it is. */
function selectField(n, quietly) {
  const before = detail.fields[detail.chosen];
  if (before) before.row.classList.remove("chosen");
  detail.chosen = n;
  const field = detail.fields[n];
  if (field) {
    unfoldTo(n);
    field.row.classList.add("chosen");
    field.row.scrollIntoView({ block: "nearest" });
  }
  lightBytes(hasBytes(field) ? [field.tag, field.end] : null, quietly);
  tellWhere(field);
}

const hasBytes = (field) => !!field && field.tag !== undefined;

/** Unfolds what a field lies in. */
function unfoldTo(n) {
  let depth = detail.fields[n].depth, changed = false;
  for (let at = n - 1; at >= 0 && depth > 0; at--) {
    const field = detail.fields[at];
    if (field.depth >= depth) continue;
    depth = field.depth;
    if (!field.open) changed = field.open = true;
  }
  if (changed) refold();
}

/** The innermost field that a byte belongs to; -1 for none. */
function fieldAt(at) {
  return detail.fields.findLastIndex((field) => hasBytes(field) && field.tag <= at && at < field.end);
}

/** A field's path, as a filter and a column of rpcshark spell it. */
function pathOf(n) {
  const steps = [];
  for (let at = n, depth = Infinity; at >= 0 && depth > 0; at--) {
    const field = detail.fields[at];
    if (field.depth < depth) { steps.unshift(field.name); depth = field.depth; }
  }
  return "message." + steps.join(".");
}

/** The line below the bytes: the field's path and place. */
function tellWhere(field) {
  const n = detail.fields.indexOf(field), box = byId("where");
  box.replaceChildren();
  if (!hasBytes(field)) return;
  box.append(make("span", "path", pathOf(n)), make("span", "", "bytes " + field.tag + " to " + (field.end - 1)));
}

function moveField(step) {
  let n = detail.chosen;
  do n += step; while (detail.fields[n] && detail.fields[n].row.hidden);
  if (detail.fields[n]) selectField(n);
}

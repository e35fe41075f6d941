// The bytes of the frame that is selected. A field and its bytes light each other.

const BYTES_A_LINE = 16;
// Columns of a line: the offset takes those before, the text those after.
const HEX_AT = 8, TEXT_AT = 58;
const hexColumn = (k) => HEX_AT + k * 3 + (k > 7 ? 1 : 0);

function drawBytes(box, contents) {
  if (!contents) return;
  const raw = atob(contents.payload);
  detail.bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
  detail.hidden = contents.hidden || [];
  detail.length = contents.length;
  lightBytes(null);
}

/** Draws the dump with a range lit: few elements, since most of a line is of one sort. */
function lightBytes(range, quietly) {
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
  if (first && !quietly) {
    const top = first.offsetTop - box.offsetTop;
    if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 20) box.scrollTop = top - box.clientHeight / 3;
  }
}

/** Where the dump stands in its box, and the size of a character: one font, so places can be counted. */
function dumpGrid() {
  const box = byId("bytes"), first = box.querySelector(".at");
  if (!first) return null;
  const sample = first.getBoundingClientRect(), outer = box.getBoundingClientRect();
  const high = parseFloat(getComputedStyle(box).lineHeight);
  return {
    left: sample.left - outer.left + box.scrollLeft, wide: sample.width / HEX_AT,
    top: sample.top - (high - sample.height) / 2 - outer.top + box.scrollTop, high,
  };
}

/** The byte under the pointer, in either column; -1 for none. */
function byteUnder(event) {
  const grid = dumpGrid(), box = byId("bytes"), outer = box.getBoundingClientRect();
  if (!grid) return -1;
  const column = Math.floor((event.clientX - outer.left + box.scrollLeft - grid.left) / grid.wide);
  const line = Math.floor((event.clientY - outer.top + box.scrollTop - grid.top) / grid.high);
  const inHex = column - HEX_AT;
  // The gap in the middle belongs to the byte before it, as every gap does.
  const k = column >= TEXT_AT ? column - TEXT_AT : inHex < 0 ? -1 : Math.floor((inHex - (inHex >= 24 ? 1 : 0)) / 3);
  const at = line * BYTES_A_LINE + k;
  return line >= 0 && k >= 0 && k < BYTES_A_LINE && at < detail.bytes.length ? at : -1;
}

/** Lays boxes of a class over bytes, in both columns, instead of those that were there. */
function overBytes(name, from, to) {
  const box = byId("bytes");
  box.querySelectorAll("." + name).forEach((element) => element.remove());
  const grid = from < to && detail.bytes && from < detail.bytes.length ? dumpGrid() : null;
  if (!grid) return;
  const last = Math.min(to, detail.bytes.length) - 1;
  const lines = [Math.floor(from / BYTES_A_LINE), Math.floor(last / BYTES_A_LINE)];
  const ends = [from % BYTES_A_LINE, last % BYTES_A_LINE];
  // Line, how many, first and last byte in it: a beginning, whole lines, an end.
  const parts = lines[0] === lines[1] ? [[lines[0], 1, ...ends]]
    : [[lines[0], 1, ends[0], 15], [lines[0] + 1, lines[1] - lines[0] - 1, 0, 15], [lines[1], 1, 0, ends[1]]];
  for (const [line, count, first, final] of parts) {
    for (const [left, right] of [[hexColumn(first), hexColumn(final) + 2], [TEXT_AT + first, TEXT_AT + final + 1]]) {
      const element = make("i", name);
      Object.assign(element.style, {
        left: grid.left + left * grid.wide + "px", width: (right - left) * grid.wide + "px",
        top: grid.top + line * grid.high + "px", height: count * grid.high + "px",
      });
      if (count > 0) box.append(element);
    }
  }
}

/** Puts the caret on a byte: its field is selected. */
function selectByte(at) {
  if (!detail.bytes || !detail.bytes.length) return;
  detail.byte = Math.max(0, Math.min(detail.bytes.length - 1, at));
  selectField(fieldAt(detail.byte), true);
  overBytes("caret", detail.byte, detail.byte + 1);
  const caret = byId("bytes").querySelector(".caret");
  if (caret) caret.scrollIntoView({ block: "nearest" });
}

function moveByte(by) {
  const field = detail.fields[detail.chosen];
  selectByte(detail.byte >= 0 ? detail.byte + by : hasBytes(field) ? field.tag : 0);
}

/** Shows what the pointer is over: a field's bytes, a byte's field. */
function hoverField(n) {
  const field = detail.fields[n];
  for (const each of detail.fields) each.row.classList.toggle("over", each === field);
  overBytes("over", hasBytes(field) ? field.tag : 0, hasBytes(field) ? field.end : 0);
  tellWhere(field || detail.fields[detail.chosen]);
}

function startBytes() {
  const box = byId("bytes"), message = byId("message");
  let over = -1;
  const hover = (n) => { if (n !== over) hoverField(over = n); };
  box.addEventListener("mousemove", (event) => hover(detail.bytes ? fieldAt(byteUnder(event)) : -1));
  message.addEventListener("mouseover", (event) => {
    const row = event.target.closest(".field");
    hover(row ? +row.dataset.field : -1);
  });
  for (const pane of [box, message]) pane.addEventListener("mouseleave", () => hover(-1));
  box.addEventListener("click", (event) => {
    // What is being selected, to be copied, is no click.
    if (!detail.bytes || !getSelection().isCollapsed) return;
    const at = byteUnder(event);
    if (at >= 0) selectByte(at);
    over = -1;
  });
}

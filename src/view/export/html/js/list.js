// The list of frames: only the rows in sight exist, so that a hundred thousand frames scroll like ten.
// Never reads a frame's contents.

const ROW = 24;
// Browsers give up on taller elements; past it the list scrolls in proportion.
const TALLEST = 8e6;
const list = { box: byId("list"), sizer: byId("list-sizer"), rows: new Map(), shown: [], at: -1 };

function startList() {
  byId("list-head").append(...["#", "time s", "", "kind", "what it says", "bytes"].map((name, i) =>
    make("span", ["number", "time", "", "", "", "length"][i], name)));
  const digits = String(frames.number[count - 1] || 1).length;
  byId("pane-frames").style.setProperty("--digits", Math.max(3, digits) + "ch");
  list.box.addEventListener("scroll", () => requestAnimationFrame(drawList), { passive: true });
  new ResizeObserver(drawList).observe(list.box);
  list.sizer.addEventListener("mousedown", (event) => {
    const row = event.target.closest(".row");
    if (row && event.button === 0) select(+row.dataset.frame);
  });
}

/** Shows these frames, by place. */
function showFrames(shown) {
  list.shown = shown;
  list.places = new Map(shown.map((frame, at) => [frame, at]));
  list.sizer.style.height = Math.min(shown.length * ROW, TALLEST) + "px";
  list.rows.forEach((row) => row.remove());
  list.rows.clear();
  drawList();
}

/** How many rows lie above the window, and how far into the next it is. */
function listTop() {
  const tall = list.shown.length * ROW;
  const room = list.box.clientHeight;
  if (tall <= TALLEST) return list.box.scrollTop;
  return list.box.scrollTop / Math.max(1, TALLEST - room) * (tall - room);
}

function drawList() {
  const top = listTop(), room = list.box.clientHeight;
  const from = Math.max(0, Math.floor(top / ROW) - 4);
  const to = Math.min(list.shown.length, Math.ceil((top + room) / ROW) + 4);
  const shift = list.box.scrollTop - top;
  for (const [at, row] of list.rows) {
    if (at < from || at >= to) { row.remove(); list.rows.delete(at); }
  }
  for (let at = from; at < to; at++) {
    let row = list.rows.get(at);
    if (!row) {
      row = listRow(list.shown[at]);
      list.rows.set(at, row);
      list.sizer.append(row);
    }
    row.style.transform = "translateY(" + (at * ROW + shift) + "px)";
    row.classList.toggle("chosen", list.shown[at] === list.at);
  }
}

function listRow(i) {
  const row = make("div", "row " + sideOf(i) + (isPulse(i) || isRepeated(i) || isReceipt(i) ? " quiet" : ""));
  row.dataset.frame = i;
  row.setAttribute("role", "option");
  const says = make("span", "says");
  if (worst[i] > NOTE) says.append(make("i", "mark s" + worst[i]));
  says.append(clean(frames.says[i].slice(0, 400)));
  row.append(
    make("span", "number", frames.number[i]),
    make("span", "time", seconds(frames.time[i])),
    make("span", "arrow", frames.sent[i] ? "→" : "←"),
    make("span", "kind h" + hueOf.get(frames.kind[i]), named(frames.name[i]) || named(frames.kind[i]) || "–"),
    says,
    make("span", "length", group(frames.length[i])),
  );
  return row;
}

/** Brings a row into sight, in the middle where it was far. */
function reveal(at) {
  const tall = list.shown.length * ROW, room = list.box.clientHeight;
  const top = listTop(), place = at * ROW;
  let wanted = top;
  if (place < top - ROW * 2 || place > top + room + ROW * 2) wanted = place - room / 2;
  else if (place < top) wanted = place;
  else if (place + ROW > top + room) wanted = place + ROW - room;
  if (wanted === top) return;
  list.box.scrollTop = tall <= TALLEST ? wanted : wanted / (tall - room) * (TALLEST - room);
}

// The page: selection, filter, tabs, theme, keys.

const KEYS = [
  ["j k ↓ ↑", "next and previous frame; in the message, next and previous field"],
  ["g G", "first and last frame"],
  ["n N", "next and previous frame with a warning or an error"],
  ["p", "to the answer of this frame, or to what it answers"],
  ["Enter", "into the message; there, fold and unfold"],
  ["Tab", "from the message into its bytes, where h j k l lead to another byte and its field"],
  ["Esc", "back to the list; in the filter, clear it"],
  ["/", "filter"],
  ["1 2 3", "frames, findings, statistics"],
  ["+ − 0  ← →", "zoom the lanes in, out, all of it; move them"],
  ["x", "lanes by time or by order"],
  ["t", "light or dark"],
  ["?", "this"],
];
const TABS = ["frames", "findings", "stats"];
let tab = "frames";
let shownFrames = frames.number.map((_, i) => i);

/** Selects a frame by its place. */
function select(i, quietly) {
  const before = list.at;
  list.at = i;
  for (const row of list.rows.values()) row.classList.toggle("chosen", +row.dataset.frame === i);
  if (before !== i) showDetail(i);
  const at = list.places.get(i);
  if (at !== undefined && !quietly) reveal(at);
  if (i >= 0) followLanes(i);
}

/** Selects a frame by its number, in the list; lifts a filter that hides it. */
function jumpTo(number) {
  const i = placeOf.get(number);
  if (i === undefined) return;
  showTab("frames");
  if (!list.places.has(i)) { byId("filter").value = ""; applyFilter(); }
  select(i);
}

function step(by) {
  const at = list.places.get(list.at);
  let to = at === undefined ? 0 : at + by;
  // From a frame that the filter hides, to the next one that it shows.
  if (at === undefined && list.at >= 0) {
    const next = list.shown.findIndex((i) => i > list.at);
    to = next < 0 ? list.shown.length - 1 : by > 0 ? next : next - 1;
  }
  to = Math.max(0, Math.min(list.shown.length - 1, to));
  if (list.shown[to] !== undefined) select(list.shown[to]);
}

function stepFinding(by) {
  const from = list.places.get(list.at) ?? -1;
  for (let at = from + by; at >= 0 && at < list.shown.length; at += by) {
    if (worst[list.shown[at]] > NOTE) return select(list.shown[at]);
  }
}

function toPartner() {
  const number = frames.number[list.at];
  const open = (opens.get(number) || []).find((link) => link.responses.length);
  const answer = (answers.get(number) || []).find((link) => link.request >= 0 && link.request !== number);
  if (open) jumpTo(open.responses[0]); else if (answer) jumpTo(answer.request);
}

function applyFilter() {
  const asked = compile(byId("filter").value);
  const box = byId("filter").parentNode;
  box.classList.toggle("wrong", asked.wrong !== undefined);
  if (asked.wrong !== undefined) { byId("matches").textContent = clean(asked.wrong); return; }
  const all = frames.number.map((_, i) => i);
  shownFrames = asked.all ? all : all.filter(asked.test);
  lanes.matches = asked.all ? null : new Set(shownFrames);
  byId("matches").textContent = asked.all ? "" : group(shownFrames.length) + " of " + group(count);
  byId("count-frames").textContent = group(shownFrames.length);
  showFrames(shownFrames);
  if (list.places.has(list.at)) reveal(list.places.get(list.at));
  else select(shownFrames.length ? shownFrames[0] : -1);
  drawLanesSoon();
  if (tab === "stats") drawStats(shownFrames);
}

function showTab(name) {
  tab = name;
  for (const each of TABS) {
    byId("tab-" + each).setAttribute("aria-selected", each === name);
    byId("pane-" + each).hidden = each !== name;
  }
  if (name === "frames") drawList();
  if (name === "findings") drawFindings();
  if (name === "stats") drawStats(shownFrames);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColors();
  drawLanesSoon();
}

function setAxis(byTime) {
  lanes.byTime = byTime && hasTimes;
  byId("axis").textContent = lanes.byTime ? "time" : "order";
  byId("axis").disabled = !hasTimes;
  layLanes();
  if (tab === "stats") drawStats(shownFrames);
}

function summarise() {
  const bytes = frames.wire.reduce((sum, n) => sum + n, 0);
  const calls = new Set(frames.call).size;
  const runs = stages.filter((stage) => stage.run).length;
  const span = hasTimes ? ends([...times]) : null;
  byId("title").textContent = session.captures.length === 1 ? clean(session.captures[0]) : session.captures.map(clean).join(", ");
  byId("title").title = byId("title").textContent;
  byId("summary").textContent = clean([
    plural(count, "frame"), plural(calls, "call"), runs ? plural(runs, "run") : "", size(bytes),
    span ? duration((span[1] - span[0]) / 1e3) : "", session.began ? session.began.slice(0, 19).replace("T", " ") + " UTC" : "",
  ].filter(Boolean).join(" · "));
  const bad = session.findings.filter((f) => f.severity > NOTE);
  const counted = byId("count-findings");
  counted.textContent = bad.length || session.findings.length;
  counted.className = bad.some((f) => f.severity === ERROR) ? "error" : bad.length ? "warning" : "";
  byId("notice").textContent = clean([
    session.secrets ? "credentials are shown" : "",
    session.dropped ? plural(session.dropped, "frame") + " left out" : "",
    session.leftContents ? "contents of " + plural(session.leftContents, "frame") + " left out" : "",
    "rpcshark " + session.version,
  ].filter(Boolean).join(" · "));
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const help = byId("help");
  if (help.open) return;
  const typing = event.target === byId("filter");
  if (typing) {
    if (event.key === "Escape") {
      if (event.target.value) { event.target.value = ""; applyFilter(); } else byId("list").focus();
    } else if (event.key === "Enter") byId("list").focus();
    return;
  }
  const inMessage = byId("message").contains(document.activeElement), inBytes = document.activeElement === byId("bytes");
  const width = lanes.to - lanes.from;
  const actions = {
    j: () => (inBytes ? moveByte(BYTES_A_LINE) : inMessage ? moveField(1) : step(1)),
    k: () => (inBytes ? moveByte(-BYTES_A_LINE) : inMessage ? moveField(-1) : step(-1)),
    h: () => (inBytes ? moveByte(-1) : inMessage && fold(detail.chosen, false)),
    l: () => (inBytes ? moveByte(1) : inMessage && fold(detail.chosen, true)),
    PageDown: () => step(Math.floor(list.box.clientHeight / ROW) - 1), PageUp: () => step(1 - Math.floor(list.box.clientHeight / ROW)),
    g: () => step(-Infinity), G: () => step(Infinity), Home: () => step(-Infinity), End: () => step(Infinity),
    n: () => stepFinding(1), N: () => stepFinding(-1), p: toPartner,
    Enter: () => { if (inMessage) fold(detail.chosen); else { byId("message").focus(); if (detail.chosen < 0) moveField(1); } },
    Escape: () => { selectField(-1); byId("list").focus(); },
    "/": () => { byId("filter").focus(); byId("filter").select(); },
    1: () => showTab("frames"), 2: () => showTab("findings"), 3: () => showTab("stats"),
    "+": () => zoomLanes(0.6), "=": () => zoomLanes(0.6), "-": () => zoomLanes(1 / 0.6), 0: fitLanes,
    ArrowLeft: () => (inMessage || inBytes ? actions.h() : moveLanes(lanes.from - width * 0.15, width)),
    ArrowRight: () => (inMessage || inBytes ? actions.l() : moveLanes(lanes.from + width * 0.15, width)),
    ArrowDown: () => actions.j(), ArrowUp: () => actions.k(),
    x: () => setAxis(!lanes.byTime),
    t: () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
    "?": () => help.showModal(),
  };
  // A button that has the focus is pressed by Enter.
  if (event.key === "Enter" && event.target.closest("button, a")) return;
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

function startSplit() {
  const split = byId("split"), box = document.querySelector(".lanes");
  split.addEventListener("pointerdown", (event) => {
    const from = event.clientY, height = box.clientHeight;
    split.setPointerCapture(event.pointerId);
    const move = (moved) => { box.style.height = Math.max(60, Math.min(innerHeight - 240, height + moved.clientY - from)) + "px"; };
    split.addEventListener("pointermove", move);
    split.addEventListener("pointerup", () => split.removeEventListener("pointermove", move), { once: true });
  });
}

function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  summarise();
  for (const [keys, what] of KEYS) byId("help-keys").append(make("dt", "", keys), make("dd", "", what));
  for (const [text, what] of FILTER_HELP) byId("help-filter").append(make("dt", "", text), make("dd", "", what));
  startList();
  startLanes();
  startBytes();
  startSplit();
  setAxis(lanes.byTime);
  // As tall as the lanes need, within reason.
  const room = innerWidth <= 820 ? 190 : Math.round(innerHeight * 0.36);
  document.querySelector(".lanes").style.height = Math.max(90, Math.min(room, lanes.height + 8)) + "px";
  let due = 0;
  byId("filter").addEventListener("input", () => { clearTimeout(due); due = setTimeout(applyFilter, count > 20000 ? 120 : 0); });
  byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  byId("ask").addEventListener("click", () => byId("help").showModal());
  byId("axis").addEventListener("click", () => setAxis(!lanes.byTime));
  byId("zoom-in").addEventListener("click", () => zoomLanes(0.6));
  byId("zoom-out").addEventListener("click", () => zoomLanes(1 / 0.6));
  byId("zoom-fit").addEventListener("click", fitLanes);
  for (const name of TABS) byId("tab-" + name).addEventListener("click", () => showTab(name));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-jump]");
    if (button) jumpTo(+button.dataset.jump);
  });
  byId("message").addEventListener("click", (event) => {
    const row = event.target.closest(".field");
    if (!row) return;
    if (event.target.classList.contains("fold")) fold(+row.dataset.field);
    selectField(+row.dataset.field);
  });
  byId("message").addEventListener("dblclick", (event) => {
    const row = event.target.closest(".field");
    if (row) fold(+row.dataset.field);
  });
  document.addEventListener("keydown", onKey);
  addEventListener("resize", () => { if (tab === "stats") drawStats(shownFrames); });
  showTab("frames");
  applyFilter();
  // Told in the address, for links into a report: #12 is frame 12.
  const wanted = placeOf.get(+location.hash.slice(1));
  if (wanted !== undefined) select(wanted);
  byId("list").focus({ preventScroll: true });
}

start();

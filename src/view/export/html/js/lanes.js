// Lanes over time: each run with its stages, its waits for answers, its frames as ticks.
// Drawn on a canvas, what is in sight only; x is time, or the order of frames where times say nothing.

const lanes = {
  canvas: byId("lanes"), tip: byId("tip"),
  rows: [], height: 0, y: 0,
  byTime: mostlyTimed,
  from: 0, to: 1, least: 0, most: 1,
  hits: [], colors: {}, matches: null,
};
const AXIS = 26;
const HEIGHTS = { run: 22, stage: 19, wait: 13, frames: 26 };
const SPACE_AFTER_RUN = 10;
// Waits of one lifeline that overlap take a row each, up to so many.
const MOST_ROWS = 5;

const place = (time, frame) => (lanes.byTime ? time : frame);
const gutter = () => (lanes.canvas.clientWidth < 700 ? 126 : 176);
const toX = (value) => gutter() + (value - lanes.from) / (lanes.to - lanes.from) * (lanes.canvas.clientWidth - gutter() - 12);
const fromX = (x) => lanes.from + (x - gutter()) / (lanes.canvas.clientWidth - gutter() - 12) * (lanes.to - lanes.from);

/** Lays rows out: once for each axis. */
function layLanes() {
  lanes.rows = [];
  const span = (first, began, last, ended) => {
    const from = place(began, first), to = lanes.byTime ? ended : last + 1;
    return from === null || to === null ? null : [from, Math.max(from, to)];
  };
  const add = (kind, label, depth, items) => { if (items.length || kind === "run") lanes.rows.push({ kind, label, depth, items }); };
  const framesOf = new Map();
  runOfFrame.forEach((run, i) => push(framesOf, run, i));
  const inRun = new Map();
  stages.forEach((stage) => { if (!stage.run) push(inRun, runOf(stage.number), stage); });
  const waits = new Map();
  for (const link of links) if (!link.isStage && link.responses.length) push(waits, runOf(link.stage), link);
  const ticks = (run) => (framesOf.get(run) || []).filter((i) => !lanes.byTime || frames.time[i] !== null);

  for (const run of stages.filter((stage) => stage.run)) {
    const outcome = session.outcomes.find((o) => o.stage === run.number);
    const whole = span(run.first, run.began, run.last, run.ended);
    add("run", stageName(run), 0, whole ? [{ from: whole[0], to: whole[1], stage: run, text: [outcome && outcome.ending, run.of >= 0 && "within " + stageName(stages[run.of])].filter(Boolean).join(" · "), severity: outcome ? outcome.severity : NONE, outcome }] : []);
    const levels = new Map();
    for (const stage of inRun.get(run.number) || []) {
      const at = span(stage.first, stage.began, stage.last, stage.ended);
      if (at) push(levels, stage.level, { from: at[0], to: at[1], stage, text: stage.title || (stage.id ? shortId(stage.id) : stage.name) });
    }
    for (const level of [...levels.keys()].sort((a, b) => a - b)) {
      packed(levels.get(level)).forEach((items, n) => add("stage", n ? "" : session.levels[level], 1, items));
    }
    const named = new Map();
    for (const link of waits.get(run.number) || []) {
      const asked = placeOf.get(link.request), over = placeOf.get(link.responses[link.responses.length - 1]), first = placeOf.get(link.responses[0]);
      if (asked === undefined || over === undefined || first === undefined) continue;
      const at = span(frames.number[asked], frames.time[asked], frames.number[over], frames.time[over]);
      if (at) push(named, link.name, { from: at[0], to: at[1], answered: place(frames.time[first], frames.number[first]), link });
    }
    for (const [name, items] of named) {
      packed(items).slice(0, MOST_ROWS).forEach((row, n) => add("wait", n ? "" : name, 1, row));
    }
    add("frames", "frames", 1, ticks(run.number));
  }
  const rest = ticks(-1).filter((i) => !isReceipt(i));
  if (rest.length) {
    if (lanes.rows.length) add("run", "outside of runs", 0, []);
    add("frames", "frames", 1, rest);
  }
  lanes.height = AXIS;
  lanes.rows.forEach((row, n) => {
    row.y = lanes.height;
    lanes.height += HEIGHTS[row.kind] + (row.kind === "frames" && n + 1 < lanes.rows.length ? SPACE_AFTER_RUN : 0);
  });
  const known = lanes.byTime ? frames.time.filter((t) => t !== null) : frames.number;
  lanes.least = known.reduce((a, b) => Math.min(a, b), known.length ? known[0] : 0);
  lanes.most = known.reduce((a, b) => Math.max(a, b), known.length ? known[0] : 1) + (lanes.byTime ? 0 : 1);
  if (lanes.most <= lanes.least) lanes.most = lanes.least + 1;
  fitLanes();
}

/** Rows of items that do not overlap. */
function packed(items) {
  const rows = [];
  for (const item of items.sort((a, b) => a.from - b.from)) {
    const row = rows.find((row) => row[row.length - 1].to <= item.from);
    if (row) row.push(item); else rows.push([item]);
  }
  return rows;
}

function fitLanes() {
  const edge = (lanes.most - lanes.least) * 0.01;
  lanes.from = lanes.least - edge;
  lanes.to = lanes.most + edge;
  drawLanesSoon();
}

function zoomLanes(factor, at) {
  const middle = at === undefined ? (lanes.from + lanes.to) / 2 : at;
  const whole = (lanes.most - lanes.least) * 1.02;
  const width = Math.min(whole, Math.max((lanes.to - lanes.from) * factor, lanes.byTime ? 20 : 4));
  const share = (middle - lanes.from) / (lanes.to - lanes.from);
  moveLanes(middle - width * share, width);
}

function moveLanes(from, width) {
  const edge = (lanes.most - lanes.least) * 0.01;
  lanes.from = Math.min(Math.max(from, lanes.least - edge), Math.max(lanes.least - edge, lanes.most + edge - width));
  lanes.to = lanes.from + width;
  drawLanesSoon();
}

function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["sheet", "ink", "soft", "faint", "line", "hover", "sent", "got", "ends", "warning", "error", "note", "bar", "bar-2", "bar-3", "wait", "chosen-line",
    "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"]) lanes.colors[name] = style.getPropertyValue("--" + name).trim();
  lanes.font = style.getPropertyValue("--sans");
}

let lanesDue = false;
function drawLanesSoon() {
  if (lanesDue) return;
  lanesDue = true;
  requestAnimationFrame(() => { lanesDue = false; drawLanes(); });
}

function drawLanes() {
  const { canvas, colors } = lanes;
  const width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1;
  if (!width || !height) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  lanes.y = Math.max(0, Math.min(lanes.y, lanes.height - height + 6));
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  lanes.hits = [];
  drawGrid(ctx, width, height);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, AXIS, width, height - AXIS);
  ctx.clip();
  for (const row of lanes.rows) {
    const y = row.y - lanes.y;
    if (y > height || y + HEIGHTS[row.kind] < AXIS) continue;
    drawLabel(ctx, row, y);
    ctx.save();
    ctx.beginPath();
    ctx.rect(gutter() - 2, AXIS, width - gutter() + 2, height);
    ctx.clip();
    if (row.kind === "frames") drawTicks(ctx, row, y); else drawBars(ctx, row, y, width);
    ctx.restore();
  }
  ctx.restore();
  drawChosen(ctx, height);
  if (!lanes.rows.length) {
    ctx.fillStyle = colors.faint;
    ctx.font = "12px " + lanes.font;
    ctx.fillText(count ? "no times and no runs" : "no frames", gutter(), height / 2);
  }
}

/** A round step that gives about so many lines. */
function niceStep(range, lines) {
  const rough = range / lines, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((n) => n * power >= rough) * power;
}

function drawGrid(ctx, width, height) {
  const { colors } = lanes;
  const step = Math.max(niceStep(lanes.to - lanes.from, Math.max(2, (width - gutter()) / 130)), lanes.byTime ? 1 : 1);
  ctx.font = "11px " + lanes.font;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.lineWidth = 1;
  for (let n = Math.ceil(lanes.from / step); n * step <= lanes.to; n++) {
    const value = n * step, x = Math.round(toX(value)) + 0.5;
    if (x < gutter() || value < lanes.least - step) continue;
    ctx.strokeStyle = colors.line;
    ctx.beginPath();
    ctx.moveTo(x, AXIS - 4);
    ctx.lineTo(x, height);
    ctx.stroke();
    ctx.fillStyle = colors.faint;
    const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step / 1e6) + 1e-9)));
    const text = lanes.byTime ? (value / 1e6).toFixed(decimals) + " s" : "#" + value;
    if (x + ctx.measureText(text).width + 4 < width) ctx.fillText(text, x + 4, AXIS / 2);
  }
}

function drawLabel(ctx, row, y) {
  const { colors } = lanes;
  const height = HEIGHTS[row.kind];
  ctx.fillStyle = row.kind === "run" ? colors.ink : row.kind === "wait" ? colors.faint : colors.soft;
  ctx.font = (row.kind === "run" ? "600 12px " : row.kind === "wait" ? "10px " : "11px ") + lanes.font;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillText(fitText(ctx, clean(row.label), gutter() - 22 - row.depth * 10), 12 + row.depth * 10, y + height / 2);
}

function fitText(ctx, text, room) {
  if (ctx.measureText(text).width <= room) return text;
  let least = 0, most = text.length;
  while (least < most) {
    const middle = (least + most + 1) >> 1;
    if (ctx.measureText(text.slice(0, middle) + "…").width <= room) least = middle; else most = middle - 1;
  }
  return least > 1 ? text.slice(0, least) + "…" : "";
}

function drawBars(ctx, row, y, width) {
  const { colors } = lanes;
  const height = HEIGHTS[row.kind], pad = row.kind === "wait" ? 3.5 : 2;
  for (const item of row.items) {
    const from = toX(item.from), to = Math.max(from + 2, toX(item.to));
    if (to < gutter() || from > width) continue;
    const left = Math.max(from, gutter() - 4), right = Math.min(to, width + 4);
    const box = [left, y + pad, right - left, height - pad * 2];
    if (row.kind === "wait") {
      ctx.fillStyle = colors.wait;
      ctx.globalAlpha = 0.4;
      rounded(ctx, ...box, 2);
      ctx.globalAlpha = 1;
      const answered = Math.min(right, Math.max(left + 2, toX(item.answered)));
      ctx.fillStyle = item.link.state === "answered" ? colors.wait : colors.warning;
      rounded(ctx, left, y + pad, answered - left, height - pad * 2, 2);
    } else {
      ctx.fillStyle = row.kind === "run" ? (item.severity >= WARNING ? colors.warning : colors.bar) : item.stage.level % 2 ? colors["bar-3"] : colors["bar-2"];
      if (row.kind === "run" && item.severity >= WARNING) ctx.globalAlpha = 0.35;
      rounded(ctx, ...box, 3);
      ctx.globalAlpha = 1;
      ctx.font = "11px " + lanes.font;
      ctx.fillStyle = row.kind === "run" && item.severity < WARNING ? colors.soft : colors.ink;
      const text = fitText(ctx, clean(item.text).replace(/\n/g, " "), right - left - 12);
      if (text && right - left > 26) ctx.fillText(text, left + 6, y + height / 2 + 0.5);
    }
    lanes.hits.push({ x0: from - 1, x1: to + 1, y0: y, y1: y + height, item });
  }
}

function rounded(ctx, x, y, width, height, radius) {
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, Math.min(radius, width / 2));
  ctx.fill();
}

/** Ticks: sent above the line, received below it; one a pixel is enough. */
function drawTicks(ctx, row, y) {
  const { colors, matches } = lanes;
  const middle = Math.round(y + HEIGHTS.frames / 2) + 0.5, long = HEIGHTS.frames / 2 - 3;
  ctx.strokeStyle = colors.line;
  ctx.beginPath();
  ctx.moveTo(Math.max(gutter(), toX(lanes.least)), middle);
  ctx.lineTo(toX(lanes.most), middle);
  ctx.stroke();
  const drawn = new Set();
  const marks = [];
  for (const i of row.items) {
    const value = place(frames.time[i], frames.number[i]);
    if (value < lanes.from || value > lanes.to) continue;
    const x = Math.round(toX(value)), match = !matches || matches.has(i);
    const key = (x * 2 + frames.sent[i]) * 2 + (match ? 1 : 0);
    if (worst[i] > NOTE) marks.push([x, worst[i]]);
    if (drawn.has(key)) continue;
    drawn.add(key);
    ctx.globalAlpha = match ? (isPulse(i) ? 0.45 : 1) : 0.13;
    ctx.fillStyle = colors["c" + hueOf.get(frames.kind[i])];
    ctx.fillRect(x - 0.75, frames.sent[i] ? middle - long : middle + 0.5, 1.5, long - 0.5);
  }
  ctx.globalAlpha = 1;
  for (const [x, severity] of marks) {
    ctx.fillStyle = severity === ERROR ? colors.error : colors.warning;
    ctx.beginPath();
    ctx.arc(x, middle, 3, 0, 7);
    ctx.fill();
  }
  lanes.hits.push({ x0: gutter(), x1: 1e9, y0: y, y1: y + HEIGHTS.frames, ticks: row.items });
}

function drawChosen(ctx, height) {
  const i = list.at;
  if (i < 0) return;
  const value = place(frames.time[i], frames.number[i]);
  if (value === null) return;
  const x = Math.round(toX(value)) + 0.5;
  if (x < gutter()) return;
  ctx.strokeStyle = lanes.colors["chosen-line"];
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(x, AXIS - 6);
  ctx.lineTo(x, height);
  ctx.stroke();
  ctx.fillStyle = lanes.colors["chosen-line"];
  ctx.beginPath();
  ctx.moveTo(x - 4, AXIS - 9);
  ctx.lineTo(x + 4, AXIS - 9);
  ctx.lineTo(x, AXIS - 3);
  ctx.fill();
}

/** What lies under a point. */
function hit(x, y) {
  if (y < AXIS || x < gutter() - 4) return null;
  const found = lanes.hits.filter((h) => y >= h.y0 && y < h.y1 && x >= h.x0 && x <= h.x1);
  const bar = found.filter((h) => h.item).sort((a, b) => (a.x1 - a.x0) - (b.x1 - b.x0))[0];
  if (bar) return bar;
  const ticks = found.find((h) => h.ticks);
  if (!ticks) return null;
  let best = null, least = 6;
  for (const i of ticks.ticks) {
    const away = Math.abs(toX(place(frames.time[i], frames.number[i])) - x);
    if (away < least) { least = away; best = i; }
  }
  return best === null ? null : { frame: best };
}

function describe(found) {
  if (found.frame !== undefined) {
    const i = found.frame;
    return [(frames.sent[i] ? "→ " : "← ") + (named(frames.name[i]) || named(frames.kind[i])),
      "frame " + frames.number[i] + (frames.time[i] === null ? "" : " · " + seconds(frames.time[i]) + " s") + " · " + group(frames.length[i]) + " bytes", frames.says[i].slice(0, 160)];
  }
  const { stage, link, outcome } = found.item;
  if (stage) {
    const lasted = stage.began !== null && stage.ended !== null ? " · " + duration((stage.ended - stage.began) / 1e3) : "";
    return [stageName(stage) + (outcome ? " · " + outcome.ending : ""), "frames " + stage.first + " to " + stage.last + lasted, stage.title || (outcome && outcome.reason) || ""];
  }
  return [link.what, link.name + (link.id ? " " + shortId(link.id) : "") + " · " + link.state + (link.wait === null ? "" : " after " + duration(link.wait)),
    "frame " + link.request + " → " + link.responses.slice(0, 6).join(", ")];
}

function startLanes() {
  const { canvas, tip } = lanes;
  readColors();
  layLanes();
  new ResizeObserver(drawLanesSoon).observe(canvas);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const width = lanes.to - lanes.from;
    if (event.ctrlKey || event.metaKey || event.altKey) zoomLanes(Math.exp(event.deltaY * 0.004), fromX(event.offsetX));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) moveLanes(lanes.from + (event.deltaX || event.deltaY) / canvas.clientWidth * width, width);
    else if (lanes.height > canvas.clientHeight) { lanes.y += event.deltaY; drawLanesSoon(); } else zoomLanes(Math.exp(event.deltaY * 0.002), fromX(event.offsetX));
    tip.hidden = true;
  }, { passive: false });
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    drag = { x: event.offsetX, y: event.offsetY, from: lanes.from, top: lanes.y, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && (drag.moved || Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y) > 3)) {
      drag.moved = true;
      canvas.classList.add("drag");
      const width = lanes.to - lanes.from;
      lanes.y = drag.top - (event.offsetY - drag.y);
      return moveLanes(drag.from - (event.offsetX - drag.x) / (canvas.clientWidth - gutter()) * width, width);
    }
    const found = hit(event.offsetX, event.offsetY);
    canvas.style.cursor = found ? "pointer" : "default";
    tip.hidden = !found;
    if (!found) return;
    const [title, ...lines] = describe(found);
    tip.replaceChildren(make("b", "", title), ...lines.filter(Boolean).map((line) => make("span", "", line)));
    const left = Math.min(event.offsetX + 14, canvas.clientWidth - tip.offsetWidth - 8);
    const below = event.offsetY + 16;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = (below + tip.offsetHeight > canvas.clientHeight ? Math.max(2, event.offsetY - tip.offsetHeight - 10) : below) + "px";
  });
  canvas.addEventListener("pointerup", (event) => {
    canvas.classList.remove("drag");
    const moved = drag && drag.moved;
    drag = null;
    if (moved) return;
    const found = hit(event.offsetX, event.offsetY);
    if (!found) return;
    const frame = found.frame !== undefined ? frames.number[found.frame] : found.item.stage ? found.item.stage.first : found.item.link.request;
    jumpTo(frame);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", (event) => {
    const found = hit(event.offsetX, event.offsetY);
    if (!found || !found.item) return fitLanes();
    const width = Math.max(found.item.to - found.item.from, lanes.byTime ? 20 : 4);
    moveLanes(found.item.from - width * 0.05, width * 1.1);
  });
}

/** Brings the selected frame into sight. */
function followLanes(i) {
  const value = place(frames.time[i], frames.number[i]);
  const width = lanes.to - lanes.from;
  if (value !== null && (value < lanes.from || value > lanes.to)) moveLanes(value - width / 2, width);
  drawLanesSoon();
}

// The session: parsed once, and looked up by frame, by stage, by link.
// All text that is shown goes through `clean`, all of it becomes text nodes: nothing of a capture is ever markup.

const session = JSON.parse(document.getElementById("session").textContent);
const frames = session.frames;
const count = frames.number.length;
const CHUNK = 128;
const NONE = 0, NOTE = 1, WARNING = 2, ERROR = 3;
const LEVELS = ["", "note", "warning", "error"];

// As the program writes them: what could reorder or hide text on a screen is shown as an escape.
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;
function clean(text) {
  return String(text).replace(UNSAFE, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");
}

/** An element with a class, text and children. */
function make(tag, name, ...inside) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  for (const part of inside) {
    if (part === null || part === undefined) continue;
    element.append(part instanceof Node ? part : clean(part));
  }
  return element;
}

function svg(tag, attributes, ...inside) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  for (const part of inside) element.append(part instanceof Node ? part : clean(part));
  return element;
}

const byId = (id) => document.getElementById(id);
const named = (place) => (place < 0 ? "" : session.names[place]);
const severityOf = (i) => frames.flags[i] >> 4;
const isPulse = (i) => (frames.flags[i] & 1) !== 0;
const isReceipt = (i) => (frames.flags[i] & 8) !== 0;
const isRepeated = (i) => (frames.flags[i] & 2) !== 0;

const placeOf = new Map();
frames.number.forEach((number, i) => placeOf.set(number, i));

const stages = session.stages.map(([level, id, title, parent, first, began, last, ended, closed, run, of], number) =>
  ({ number, level, id, title, parent, first, began, last, ended, closed: !!closed, run: !!run, of, name: session.levels[level] || "" }));

const links = session.links.map(([lifeline, id, what, request, responses, wait, state, stage, isStage]) =>
  ({ name: session.lifelines[lifeline] || "", id, what, request, responses, wait, state, stage, isStage: !!isStage }));

// By frame: links that it opens, and links that it answers.
const opens = new Map(), answers = new Map();
for (const link of links) {
  if (link.request >= 0) push(opens, link.request, link);
  for (const frame of link.responses) push(answers, frame, link);
}
const findingsOf = new Map();
for (const finding of session.findings) for (const frame of finding.frames) push(findingsOf, frame, finding);

// A frame is as bad as the worst that is said of it, by itself or by its run.
const worst = frames.number.map((number, i) =>
  (findingsOf.get(number) || []).reduce((most, f) => Math.max(most, f.severity), severityOf(i)));

function push(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value); else map.set(key, [value]);
}

/** The run that a stage stands in; -1 for none. */
function runOf(stage) {
  for (let steps = 0; stage >= 0 && steps < 32; steps++) {
    if (stages[stage].run) return stage;
    stage = stages[stage].parent;
  }
  return -1;
}
const runOfFrame = frames.stage.map(runOf);
const shortId = (id) => (id && id.length > 14 ? id.slice(0, 13) + "…" : id || "");
const stageName = (stage) => (stage.id ? stage.name + " " + shortId(stage.id) : stage.name);

// The commonest kinds have a colour each, the rest share the last.
const kindCount = new Map();
frames.kind.forEach((kind) => kindCount.set(kind, (kindCount.get(kind) || 0) + 1));
const kinds = [...kindCount.keys()].sort((a, b) => kindCount.get(b) - kindCount.get(a));
const hueOf = new Map(kinds.map((kind, i) => [kind, Math.min(i, 7)]));

const ENDS = new Set(["end_stream", "trailers", "error"]);
const isEnd = (i) => ENDS.has(named(frames.kind[i]));
const sideOf = (i) => (isEnd(i) ? "ends" : frames.sent[i] ? "sent" : "got");

// Captures without times, or with one time for a whole body, are drawn in the order of their frames.
const times = new Set(frames.time.filter((t) => t !== null));
const hasTimes = times.size > 1;
const mostlyTimed = hasTimes && times.size * 4 > count;

const chunks = new Map();
/** The record and the contents of a frame. */
function details(i) {
  const number = Math.floor(i / CHUNK);
  if (!chunks.has(number)) {
    if (chunks.size > 8) chunks.delete(chunks.keys().next().value);
    const element = byId("frames-" + number);
    chunks.set(number, element ? JSON.parse(element.textContent) : []);
  }
  return chunks.get(number)[i % CHUNK] || [null, null];
}

function seconds(micros) {
  return micros === null ? "" : (micros / 1e6).toFixed(micros < 1e10 ? 3 : 1);
}
function duration(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1) return ms.toFixed(2) + " ms";
  if (ms < 1000) return ms.toFixed(1) + " ms";
  return (ms / 1000).toFixed(ms < 10000 ? 2 : 1) + " s";
}
function size(bytes) {
  if (bytes < 10000) return group(bytes) + " B";
  if (bytes < 1e6) return (bytes / 1e3).toFixed(1) + " kB";
  if (bytes < 1e9) return (bytes / 1e6).toFixed(1) + " MB";
  return (bytes / 1e9).toFixed(1) + " GB";
}
function group(number) {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, "\u2009");
}
const plural = (number, one, many) => group(number) + " " + (number === 1 ? one : many || one + "s");

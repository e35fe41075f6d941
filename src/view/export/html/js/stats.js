// Statistics of the frames that the filter lets through: counts, waits, sizes, sums over time, runs.

function drawStats(shown) {
  const pane = byId("pane-stats");
  pane.replaceChildren();
  const box = make("div", "stats");
  pane.append(box);
  const section = (title, remark, wide) => {
    const element = make("section", wide ? "wide" : "", make("h2", "", title, remark ? make("small", "", remark) : null));
    box.append(element);
    return element;
  };
  const seen = new Set(shown.map((i) => frames.number[i]));
  const partly = shown.length < count ? "of the frames that the filter lets through" : "";

  const total = { sent: 0, got: 0, packed: 0, unpacked: 0 };
  for (const i of shown) {
    total[frames.sent[i] ? "sent" : "got"] += frames.wire[i];
    if (frames.flags[i] & 4) { total.packed += frames.wire[i]; total.unpacked += frames.length[i]; }
  }
  const span = ends(shown.map((i) => frames.time[i]).filter((t) => t !== null));
  numbers(section("Totals", partly, true), [
    ["frames", group(shown.length)],
    ["calls", group(new Set(shown.map((i) => frames.call[i])).size)],
    ["sent", size(total.sent)],
    ["received", size(total.got)],
    ["repeated", shown.filter(isRepeated).length || null],
    ["from first to last", hasTimes && shown.length ? duration((span[1] - span[0]) / 1e3) : null],
  ]);

  if (session.outcomes.length) runsTable(section("Runs", "", true));

  const width = () => Math.max(280, box.lastElementChild.clientWidth);
  const waits = new Map();
  for (const link of links) {
    if (link.wait !== null && link.state === "answered" && seen.has(link.request)) push(waits, link.name, link.wait);
  }
  const rows = [...waits].map(([name, list]) => [name, list.sort((a, b) => a - b)]).sort((a, b) => b[1].length - a[1].length);
  if (rows.length) {
    const element = section("Waits", "from a request to its first answer; the line is the median");
    element.append(plotWaits(width(), rows));
    const table = tableOf([["pair"], ["count", 1], ["p50", 1], ["p90", 1], ["p99", 1], ["longest", 1]]);
    for (const [name, list] of rows) {
      tableRow(table, [name, group(list.length), ...[0.5, 0.9, 0.99, 1].map((p) => duration(percentile(list, p)))]);
    }
    element.append(table);
  }

  if (shown.length) {
    const element = section("Sizes", "frames by the length of their message, in powers of two");
    const bins = [];
    for (const i of shown) {
      const power = frames.length[i] ? Math.floor(Math.log2(frames.length[i])) + 1 : 0;
      while (bins.length <= power) bins.push([0, 0]);
      bins[power][frames.sent[i] ? 0 : 1] += 1;
    }
    element.append(plotSizes(width(), bins), legend([["sent", "sent"], ["received", "got"]]));
  }

  const label = (value, step) => (lanes.byTime ? (value / 1e6).toFixed(Math.max(0, Math.min(6, -Math.floor(Math.log10(step / 1e6) + 1e-9)))) + " s" : "#" + value);
  const x = (i) => place(frames.time[i], frames.number[i]);
  const visible = new Set(shown);
  const tokens = sums(session.samples.filter(([i, m]) => visible.has(i) && session.measures[m][1] && x(i) !== null), ([i, m, value]) => [m, x(i), value]);
  if (tokens.size) {
    const series = [...tokens].map(([m, points], n) => [tokenName(session.measures[m][0]), n % 8, points]);
    const element = section("Tokens", lanes.byTime ? "summed over time" : "summed over frames");
    element.append(plotSums(width(), series, lanes.least, lanes.most, label, group), legend(series.map(([name, hue]) => [name, "h" + hue])));
  }
  const traffic = sums(shown.filter((i) => x(i) !== null), (i) => [frames.sent[i] ? "sent" : "received", x(i), frames.wire[i]]);
  if (traffic.size && shown.length > 1) {
    const hues = { sent: 0, received: 1 };
    const series = [...traffic].map(([name, points]) => [name, hues[name], points]);
    const element = section("Bytes", (lanes.byTime ? "summed over time" : "summed over frames") + ", as they were sent");
    element.append(plotSums(width(), series, lanes.least, lanes.most, label, size), legend(series.map(([name, hue]) => [name, "h" + hue])));
  }

  const byKind = new Map();
  for (const i of shown) {
    const key = named(frames.kind[i]) + "\n" + frames.sent[i];
    const kind = byKind.get(key) || { name: named(frames.kind[i]) || "no type", hue: hueOf.get(frames.kind[i]), sent: frames.sent[i], frames: 0, bytes: 0 };
    kind.frames += 1;
    kind.bytes += frames.length[i];
    byKind.set(key, kind);
  }
  if (byKind.size) {
    const table = tableOf([["kind"], ["direction"], ["frames", 1], ["bytes", 1], ["mean", 1]]);
    for (const kind of [...byKind.values()].sort((a, b) => b.frames - a.frames)) {
      tableRow(table, [make("span", "kind-name h" + kind.hue, kind.name), kind.sent ? "request" : "response", group(kind.frames), group(kind.bytes), group(kind.bytes / kind.frames)]);
    }
    section("Kinds", "").append(table);
  }
}

/** Running sums by key, in the order of x. */
function sums(items, read) {
  const out = new Map();
  for (const item of items) {
    const [key, at, value] = read(item);
    const points = out.get(key) || [];
    points.push([at, value]);
    out.set(key, points);
  }
  for (const points of out.values()) {
    points.sort((a, b) => a[0] - b[0]);
    let sum = 0;
    for (const point of points) { sum += point[1]; point[1] = sum; }
  }
  return out;
}

const tokenName = (name) => name.replace(/_?tokens/, "").replace(/_/g, " ");

function runsTable(element) {
  const list = session.outcomes.slice(0, 500).sort((a, b) => a.stage - b.stage);
  const reasons = list.some((outcome) => outcome.reason);
  const table = tableOf([["run"], ["ending"], ["lasted", 1], ["first token", 1], ["tokens"], ...(reasons ? [["reason"]] : [])]);
  for (const outcome of list) {
    const stage = stages[outcome.stage];
    const button = make("button", "jump", stage ? stageName(stage) : shortId(outcome.id));
    button.type = "button";
    if (stage && placeOf.has(stage.first)) button.dataset.jump = stage.first;
    const tokens = outcome.tokens.filter(([, value]) => value).map(([name, value]) => tokenName(name) + " " + group(value)).join(" · ");
    tableRow(table, [button, make("code", "s" + outcome.severity, outcome.ending), duration(outcome.duration), duration(outcome.ttft), tokens, ...(reasons ? [outcome.reason || ""] : [])]);
  }
  element.append(table);
}

function numbers(element, list) {
  const box = make("dl", "numbers");
  for (const [name, value] of list) {
    if (value !== null) box.append(make("div", "", make("dt", "", name), make("dd", "", value)));
  }
  element.append(box);
}

function legend(list) {
  const box = make("p", "legend");
  for (const [name, hue] of list) box.append(make("span", "", make("i", hue), name));
  return box;
}

function tableOf(columns) {
  const table = make("table", "table"), head = make("tr");
  for (const [name, number] of columns) head.append(make("th", number ? "number" : "", name));
  table.numbers = columns.map(([, number]) => number);
  table.append(make("thead", "", head), make("tbody"));
  return table;
}

function tableRow(table, cells) {
  table.lastChild.append(make("tr", "", ...cells.map((cell, n) => make("td", table.numbers[n] ? "number" : "", cell))));
}

// Plots as SVG: waits as dots on a logarithmic axis, sizes as bars, sums over time as steps.

/** The value below which a share of a sorted list lies. */
function percentile(sorted, share) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor((sorted.length - 1) * share + 0.5))] : null;
}

const MOST_DOTS = 400;

/** Waits: a row for each name. `rows` are [name, sorted milliseconds]. */
function plotWaits(width, rows) {
  const left = Math.min(130, width * 0.3), right = width - 12, high = 26;
  const all = rows.flatMap(([, waits]) => waits).filter((w) => w > 0);
  const least = Math.floor(Math.log10(Math.min(...ends(all)))), most = Math.ceil(Math.log10(Math.max(...ends(all)) * 1.001));
  const x = (ms) => left + (Math.log10(Math.max(ms, 10 ** least)) - least) / Math.max(1, most - least) * (right - left);
  const height = rows.length * high + 22;
  const plot = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "waits" });
  for (let power = least; power <= most; power++) {
    const at = Math.round(x(10 ** power)) + 0.5;
    plot.append(svg("line", { class: "grid", x1: at, x2: at, y1: 0, y2: height - 18 }));
    plot.append(svg("text", { x: at, y: height - 5, "text-anchor": power === most ? "end" : "middle" }, power < 3 ? 10 ** power + " ms" : 10 ** (power - 3) + " s"));
  }
  rows.forEach(([name, waits], n) => {
    const y = n * high + high / 2;
    plot.append(svg("text", { class: "name", x: 0, y: y + 4 }, name));
    const step = Math.max(1, waits.length / MOST_DOTS);
    for (let k = 0; k < waits.length; k += step) {
      // Apart from each other without chance: the same report looks the same twice.
      const away = ((Math.floor(k) * 7) % 11 - 5) * 0.9;
      plot.append(svg("circle", { class: "dot fill h0", cx: x(waits[Math.floor(k)]).toFixed(1), cy: (y + away).toFixed(1), r: 2.6 }));
    }
    const middle = x(percentile(waits, 0.5)).toFixed(1);
    plot.append(svg("line", { class: "middle", x1: middle, x2: middle, y1: y - 9, y2: y + 9 }));
  });
  return plot;
}

/** The least and greatest of a list, however long. */
function ends(list) {
  let least = Infinity, most = -Infinity;
  for (const n of list) { if (n < least) least = n; if (n > most) most = n; }
  return list.length ? [least, most] : [0.1, 1];
}

/** Sizes in powers of two, one side above the other. `bins` are [sent, got] by power. */
function plotSizes(width, bins) {
  const left = 44, bottom = 20, height = 170;
  const first = bins.findIndex((b) => b[0] + b[1] > 0);
  const shown = bins.slice(first);
  const most = Math.max(...shown.map((b) => b[0] + b[1]));
  const wide = (width - left - 8) / shown.length;
  const y = (n) => (height - bottom) * (1 - n / most) + 6;
  const plot = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height + 6}`, width, height: height + 6, role: "img", "aria-label": "sizes of frames" });
  axisLines(plot, most, y, left, width, group);
  shown.forEach(([sent, got], n) => {
    const x = left + n * wide, w = Math.max(1, wide - 3);
    if (got) plot.append(svg("rect", { class: "got", x: x + 1.5, y: y(got), width: w, height: y(0) - y(got), rx: 1 }));
    if (sent) plot.append(svg("rect", { class: "sent", x: x + 1.5, y: y(got + sent), width: w, height: y(0) - y(sent), rx: 1 }));
    const power = n + first, label = power === 0 ? "0" : bytesOf(2 ** (power - 1));
    if (shown.length < 10 || n % 2 === 0) plot.append(svg("text", { x: x + wide / 2, y: height + 2, "text-anchor": "middle" }, label));
  });
  return plot;
}

const bytesOf = (n) => (n < 1024 ? n + " B" : n < 1048576 ? n / 1024 + " K" : n / 1048576 + " M");

/** Sums over time. `series` are [name, hue, [[x, sum], …]]. */
function plotSums(width, series, least, most, label, shownValue) {
  const left = 52, bottom = 20, height = 170;
  const top = Math.max(1, ...series.map(([, , points]) => points[points.length - 1][1]));
  const x = (v) => left + (v - least) / Math.max(1e-9, most - least) * (width - left - 10);
  const y = (n) => (height - bottom) * (1 - n / top) + 6;
  const plot = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height + 6}`, width, height: height + 6, role: "img" });
  axisLines(plot, top, y, left, width, shownValue);
  const step = niceStep(most - least, Math.max(2, width / 110));
  for (let n = Math.ceil(least / step); n * step <= most; n++) {
    const at = x(n * step);
    plot.append(svg("text", { x: at, y: height + 2, "text-anchor": at > width - 24 ? "end" : "middle" }, label(n * step, step)));
  }
  for (const [, hue, points] of series) {
    let path = "M" + x(points[0][0]).toFixed(1) + " " + y(0).toFixed(1);
    for (const [at, sum] of thinned(points)) path += "H" + x(at).toFixed(1) + "V" + y(sum).toFixed(1);
    plot.append(svg("path", { class: "line stroke h" + hue, d: path + "H" + x(most).toFixed(1) }));
  }
  return plot;
}

function axisLines(plot, most, y, left, width, shownValue) {
  const step = Math.max(niceStep(most, 4), most > 3 ? 1 : 0);
  for (let n = 0; n <= most * 1.0001; n += step) {
    plot.append(svg("line", { class: "grid", x1: left, x2: width - 4, y1: Math.round(y(n)) + 0.5, y2: Math.round(y(n)) + 0.5 }));
    plot.append(svg("text", { x: left - 7, y: y(n) + 4, "text-anchor": "end" }, shownValue(n)));
  }
}

/** No more points than can be told apart. */
function thinned(points) {
  if (points.length <= 1200) return points;
  const step = points.length / 1200;
  const out = [];
  for (let n = 0; n < points.length - 1; n += step) out.push(points[Math.floor(n)]);
  out.push(points[points.length - 1]);
  return out;
}

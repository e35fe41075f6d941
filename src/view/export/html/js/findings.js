// What is wrong or odd, the worst first, each with the frames it is about.

const MOST_FINDINGS = 5000;
const findings = { levels: new Set([NOTE, WARNING, ERROR]) };

function drawFindings() {
  const pane = byId("pane-findings");
  pane.replaceChildren();
  const all = session.findings;
  if (!all.length) return pane.append(make("p", "none", "Nothing is wrong with this capture."));
  const levels = make("div", "levels");
  for (const level of [ERROR, WARNING, NOTE]) {
    const number = all.filter((f) => f.severity === level).length;
    if (!number) continue;
    const box = make("input");
    box.type = "checkbox";
    box.checked = findings.levels.has(level);
    box.addEventListener("change", () => {
      if (box.checked) findings.levels.add(level); else findings.levels.delete(level);
      drawFindings();
    });
    levels.append(make("label", "", box, make("i", "mark s" + level), plural(number, LEVELS[level])));
  }
  const table = make("table", "table");
  table.append(make("thead", "", make("tr", "", make("th", "tight", "code"), make("th", "", "what"), make("th", "", "frames"))));
  const body = make("tbody");
  const shown = all.filter((f) => findings.levels.has(f.severity)).sort((a, b) => b.severity - a.severity);
  for (const finding of shown.slice(0, MOST_FINDINGS)) {
    const what = make("td", "", finding.text);
    if (finding.path) what.append(make("div", "path", finding.path));
    if (finding.capture) what.append(make("div", "path", finding.capture + (finding.offset === undefined ? "" : " at byte " + finding.offset)));
    const where = make("td", "");
    for (const frame of finding.frames.slice(0, 12)) {
      const button = make("button", "jump", "#" + frame);
      button.type = "button";
      if (placeOf.has(frame)) button.dataset.jump = frame; else button.disabled = true;
      where.append(button);
    }
    if (finding.frames.length > 12) where.append(" …");
    body.append(make("tr", "", make("td", "tight s" + finding.severity, make("code", "", finding.code)), what, where));
  }
  table.append(body);
  pane.append(levels, table);
  if (shown.length > MOST_FINDINGS) pane.append(make("p", "none", "The first " + group(MOST_FINDINGS) + " of " + group(shown.length) + "."));
}

// Renders Mermaid diagrams in a browser: node mermaid.mjs MERMAID.JS DIAGRAM…; prints what each shows.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "../report/browser.mjs";

const [library, ...diagrams] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), "rpcshark-mermaid-"));
const browser = new Browser();
let failed = false;
try {
  const page = join(home, "page.html");
  writeFileSync(page, `<!doctype html><meta charset="utf-8"><script src="${pathToFileURL(resolve(library))}"></script><div id="here"></div>`);
  const tab = await browser.open(pathToFileURL(page).href);
  await tab.run("mermaid.initialize({ startOnLoad: false, securityLevel: 'strict' })");
  for (const diagram of diagrams) {
    const text = readFileSync(diagram, "utf8");
    const shown = await tab.run(`mermaid.render("d" + Math.floor(performance.now()), ${JSON.stringify(text)}).then(({ svg }) => {
      const here = document.getElementById("here");
      here.innerHTML = svg;
      return {
        messages: here.querySelectorAll(".messageText").length, notes: here.querySelectorAll(".noteText").length,
        actors: here.querySelectorAll("text.actor").length, text: here.textContent, ran: window.ran === undefined ? false : true,
      };
    }, (error) => ({ error: String(error && error.message || error) }))`);
    failed ||= shown.error !== undefined;
    console.log(JSON.stringify(shown));
  }
} finally {
  await browser.close();
  rmSync(home, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);

// Makes docs/img/report.png and report-dark.png from a shipped fixture: node tests/report/picture.mjs PROGRAM

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const home = mkdtempSync(join(tmpdir(), "rpcshark-picture-"));
const images = join(root, "docs/img");
const browser = new Browser();
try {
  const out = join(home, "report.html");
  execFileSync(process.argv[2], ["export", "--to", "html", "-o", out, "fixtures/good.pcap"], { cwd: root, stdio: "ignore" });
  mkdirSync(images, { recursive: true });
  for (const [name, dark] of [["report", false], ["report-dark", true]]) {
    const page = await browser.open(pathToFileURL(out).href + "#23", { width: 1440, height: 900, dark });
    // Into the message of frame 23, to the path that it asks for.
    await page.press("Enter");
    for (let n = 0; n < 3; n++) await page.press("j");
    writeFileSync(join(images, name + ".png"), await page.screenshot());
  }
} finally {
  await browser.close();
  rmSync(home, { recursive: true, force: true });
}

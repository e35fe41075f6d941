// The report in a browser: it loads, filters, selects; nothing of a capture runs; no request leaves.
// node tests/report/check.mjs PROGRAM; CHROMIUM names another browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const program = process.argv[2];
const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const fixture = (name) => join(root, "fixtures", name);
const home = mkdtempSync(join(tmpdir(), "rpcshark-check-"));
const browser = new Browser();

function report(name, args) {
  const out = join(home, name + ".html");
  execFileSync(program, ["export", "--to", "html", "-o", out, ...args], { stdio: ["ignore", "inherit", "pipe"] });
  return pathToFileURL(out).href;
}

const number = "+document.querySelector('.row.chosen .number').textContent";
const rows = "document.querySelectorAll('#list-sizer .row').length";

/** Nothing but the file itself was asked for, nothing went wrong, nothing asked the reader anything. */
function quiet(page, url) {
  assert.deepEqual(page.requests.filter((asked) => !url.startsWith(asked.split("#")[0])), []);
  assert.deepEqual(page.errors, []);
  assert.deepEqual(page.dialogs, []);
}

const tests = {
  async "it loads, selects and shows"() {
    const url = report("good", [fixture("good.pcap")]);
    const page = await browser.open(url);
    assert.equal(await page.run("document.getElementById('count-frames').textContent"), "138");
    assert.equal(await page.run(number), 1);
    await page.press("j");
    await page.press("j");
    assert.equal(await page.run(number), 3);
    await page.press("k");
    assert.equal(await page.run(number), 2);
    await page.press("G", true);
    assert.equal(await page.run(number), 138);
    await page.press("g");
    assert.equal(await page.run(number), 1);
    await page.press("/");
    await page.type("kind:read_args");
    await page.press("Enter");
    assert.equal(await page.run(number), 23);
    assert.match(await page.run("document.getElementById('facts').textContent"), /read_args.*answered by #24 after 29\.3 ms/);
    // Into the message, to the path: its bytes are lit.
    await page.press("Enter");
    for (let n = 0; n < 3; n++) await page.press("j");
    assert.match(await page.run("document.querySelector('.field.chosen').textContent"), /path.*string.*tides\.py/);
    const lit = "[...document.querySelectorAll('#bytes mark')].map((m) => m.textContent).join('')";
    assert.match(await page.run(lit), /0a/);
    assert.match(await page.run(`${lit}.replace(/[^a-z/.]/g, '')`), /tides\.py/);
    // To its answer, which the filter hides: the filter is lifted.
    await page.press("Escape");
    await page.press("p");
    assert.equal(await page.run(number), 24);
    assert.equal(await page.run("document.getElementById('filter').value"), "");
    // A click selects; a click on the lanes too.
    await page.click("#list-sizer .row[data-frame=\"25\"]");
    assert.equal(await page.run(number), 26);
    quiet(page, url);
  },

  async "a byte leads to its field, and a field to its bytes"() {
    const url = report("bytes", [fixture("good.pcap")]);
    const page = await browser.open(url + "#23");
    // Where a byte's digits and its character stand, as they are laid out: text is walked, nothing is computed.
    await page.run(`window.placeOfByte = (at, inText) => {
      const walker = document.createTreeWalker(document.getElementById("bytes"), NodeFilter.SHOW_TEXT);
      let left = Math.floor(at / 16), column = inText ? 58 + at % 16 : 8 + (at % 16) * 3 + (at % 16 > 7 ? 1 : 0);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        for (let k = 0; k < node.length; k++) {
          if (left === 0 && column-- === 0) {
            const range = document.createRange();
            range.setStart(node, k);
            range.setEnd(node, k + 1);
            const box = range.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
          }
          if (node.data[k] === "\\n") left -= 1;
        }
      }
    }`);
    const middle = (at, inText) => page.run(`placeOfByte(${at}, ${inText})`);
    const chosen = () => page.run("document.querySelector('.field.chosen .key')?.textContent ?? ''");
    const where = () => page.run("document.getElementById('where').textContent");
    const click = async (at, text) => {
      const [x, y] = await middle(at, text);
      await page.mouse("mousePressed", x, y);
      await page.mouse("mouseReleased", x, y);
      await page.settled();
    };
    await click(20, false);
    assert.equal(await chosen(), "path");
    assert.equal(await where(), "message.exec_server_message.read_args.pathbytes 7 to 40");
    await click(41, false);
    assert.equal(await chosen(), "tool_call_id");
    await click(4, true);
    assert.equal(await chosen(), "id");
    // The length of a message is its own, and no field's within it.
    await click(6, true);
    assert.equal(await chosen(), "read_args");
    // What is folded opens for the field of a byte.
    await page.click(".field.chosen .fold");
    assert.equal(await page.run("[...document.querySelectorAll('.field')].find((f) => f.textContent.startsWith('path')).hidden"), true);
    await click(9, false);
    assert.equal(await chosen(), "path");
    assert.equal(await page.run("document.querySelector('.field.chosen').hidden"), false);
    // Keys: byte by byte, line by line.
    await page.run("document.getElementById('bytes').focus()");
    for (let n = 0; n < 3; n++) await page.press("h");
    assert.equal(await chosen(), "read_args");
    await page.press("l");
    await page.press("j");
    await page.press("j");
    await page.press("j");
    assert.equal(await chosen(), "tool_call_id");
    assert.deepEqual(await page.run("(({ x, width, y, height }) => [x + width / 2, y + height / 2].map(Math.round))(document.querySelector('#bytes .caret').getBoundingClientRect())"),
      (await page.run("(([x, y]) => [x + document.querySelector('#bytes .at').getBoundingClientRect().width / 16, y])(placeOfByte(7 + 48, false))")).map(Math.round));
    // The pointer shows what it is over, and leaves what is chosen.
    const [x, y] = await middle(20, false);
    await page.mouse("mouseMoved", x, y);
    await page.settled();
    assert.equal(await page.run("document.querySelector('.field.over .key').textContent"), "path");
    assert.match(await where(), /read_args\.path/);
    assert.equal(await chosen(), "tool_call_id");
    assert.equal(await page.run("document.querySelectorAll('#bytes .over').length"), 6);
    await page.mouse("mouseMoved", 5, 5);
    await page.settled();
    assert.match(await where(), /tool_call_id/);
    // Every byte that has a field lights bytes around it, whichever column is clicked.
    const strays = await page.run(`(() => {
      const box = document.getElementById("bytes"), strays = [];
      box.scrollTop = 0;
      for (let at = 0; at < 64; at++) {
        for (const inText of [false, true]) {
          const [clientX, clientY] = placeOfByte(at, inText);
          box.dispatchEvent(new MouseEvent("click", { clientX, clientY, bubbles: true }));
          const lit = [...box.querySelectorAll("mark")].some((mark) => [...mark.getClientRects()].some((r) => r.left <= clientX && clientX <= r.right && r.top <= clientY && clientY <= r.bottom));
          if (!lit) strays.push(at);
        }
      }
      return strays;
    })()`);
    assert.deepEqual(strays, []);
    quiet(page, url);
  },

  async "the list stands under its headings"() {
    const page = await browser.open(report("columns", [fixture("good.pcap")]));
    const left = (row) => page.run(`[...document.querySelectorAll('${row} > *')].map((e) => Math.round(e.getBoundingClientRect().x))`);
    assert.deepEqual(await left("#list-head"), await left("#list-sizer .row.chosen"));
  },

  async "filters say what they let through, and what they cannot read"() {
    const page = await browser.open(report("filters", [fixture("good.pcap")]));
    const asked = async (text) => {
      await page.run(`(() => { const f = document.getElementById('filter'); f.value = ${JSON.stringify(text)}; f.dispatchEvent(new Event('input')); })()`);
      await page.settled();
      return page.run("document.getElementById('matches').textContent");
    };
    assert.equal(await asked("dir:request"), "30 of 138");
    assert.equal(await asked("-dir:request"), "108 of 138");
    assert.equal(await asked("call:1 text_delta"), await asked("text_delta call:1"));
    assert.equal(await asked("len>1000"), "2 of 138");
    assert.equal(await asked("frame:20-29"), "10 of 138");
    assert.equal(await asked("\"run the tests\" kind:text_delta"), "1 of 138");
    assert.equal(await asked("nowhere to be found"), "0 of 138");
    assert.match(await page.run("document.getElementById('message').textContent"), /No frame is selected/);
    assert.equal(await asked("is:odd"), "is:odd is not known");
    assert.equal(await asked("len>many"), "len> needs a number");
    assert.equal(await asked(""), "");
    assert.deepEqual(page.errors, []);
  },

  async "findings and statistics"() {
    const url = report("wrong", [fixture("wrong-answer.pcap")]);
    const page = await browser.open(url);
    await page.press("2");
    assert.match(await page.run("document.getElementById('pane-findings').textContent"), /pair\.type-mismatch/);
    await page.click("#pane-findings [data-jump]");
    assert.equal(await page.run("document.getElementById('pane-frames').hidden"), false);
    assert.equal(await page.run("document.querySelector('.row.chosen .mark') !== null"), true);
    await page.press("3");
    for (const title of ["Totals", "Runs", "Waits", "Sizes", "Bytes", "Kinds"]) {
      assert.ok(await page.run(`[...document.querySelectorAll('.stats h2')].some((h) => h.textContent.startsWith('${title}'))`), title);
    }
    assert.ok(await page.run("document.querySelectorAll('.plot').length >= 3"));
    assert.equal(await page.run("/NaN|undefined|Infinity/.test(document.body.innerText + [...document.querySelectorAll('.plot')].map((p) => p.innerHTML).join())"), false);
    quiet(page, url);
  },

  async "both themes, wide and narrow"() {
    const url = report("themes", [fixture("good.pcap")]);
    for (const dark of [false, true]) {
      for (const width of [1440, 400]) {
        const page = await browser.open(url, { dark, width });
        assert.equal(await page.run("document.documentElement.dataset.theme"), dark ? "dark" : "light");
        assert.equal(await page.run("document.documentElement.scrollWidth <= innerWidth"), true, "nothing is wider than the page");
        await page.press("t");
        assert.equal(await page.run("document.documentElement.dataset.theme"), dark ? "light" : "dark");
        quiet(page, url);
      }
    }
  },

  async "nothing of a capture runs"() {
    const attacks = [
      "</script><script>window.ran = 1; alert(1)</script>",
      "<img src=x onerror=\"window.ran=1\">",
      "\"><svg onload=window.ran=1>",
      "</style><style>body{display:none}</style>",
      "<!--<script>",
      "javascript:window.ran=1",
      "{{script}}]]>\u2028window.ran=1//\u2029",
      "' style='position:fixed' onclick='window.ran=1",
    ];
    const all = attacks.join(" ");
    mkdirSync(join(home, "proto"));
    writeFileSync(join(home, "proto/demo.proto"), 'syntax = "proto3"; package demo; message Say { string text = 1; map<string, string> more = 2; } service Talk { rpc Say(Say) returns (Say); }');
    const body = (text) => JSON.stringify({ text, more: Object.fromEntries(attacks.map((attack) => [attack, attack])) });
    const entry = (path, text) => ({
      startedDateTime: "2026-01-01T00:00:00.000Z", time: 5,
      request: {
        method: "POST", url: "http://host" + path, httpVersion: "HTTP/1.1",
        headers: [{ name: "content-type", value: "application/json" }, ...attacks.map((value, n) => ({ name: n ? "x-" + value.replace(/[^a-z]/g, "") + n : "x-" + value, value }))],
        postData: { mimeType: "application/json", text: body(text) },
      },
      response: {
        status: 200, statusText: all, httpVersion: "HTTP/1.1",
        headers: [{ name: "content-type", value: "application/json" }, { name: "grpc-message", value: all }],
        content: { mimeType: "application/json", text: body(text) },
      },
    });
    const entries = [entry("/demo.Talk/Say", all), entry("/" + encodeURIComponent(attacks[0]) + "/" + attacks[1].replaceAll(" ", ""), all), ...attacks.map((attack) => entry("/demo.Talk/Say?" + attack, attack))];
    const capture = join(home, "\"><img src=x onerror=window.ran=1><script>window.ran=1<\u2044script>.har");
    writeFileSync(capture, JSON.stringify({ log: { version: "1.2", creator: { name: "test", version: "1" }, entries } }));
    const url = report("hostile", ["-I", join(home, "proto"), capture]);
    const page = await browser.open(url);
    const count = +(await page.run("document.getElementById('count-frames').textContent"));
    assert.ok(count >= entries.length, "the capture is read: " + count);
    for (let n = 0; n < count; n++) {
      await page.press("j");
      await page.run("document.querySelectorAll('.field .fold').forEach((fold) => fold.click())");
    }
    assert.match(await page.run("document.getElementById('message').textContent"), /onerror|onclick/, "what was said is shown as text");
    await page.press("2");
    await page.press("3");
    assert.equal(await page.run("window.ran"), undefined);
    assert.equal(await page.run("document.querySelectorAll('img, iframe, object, embed, link, base, [onerror], [onload], [onclick]').length"), 0);
    assert.equal(await page.run("document.querySelectorAll('style').length"), 1);
    assert.equal(await page.run("[...document.scripts].filter((s) => s.type !== 'application/json').length"), 1);
    assert.equal(await page.run("getComputedStyle(document.body).display"), "grid");
    quiet(page, url);
    // And were there a way in, the policy of the page would stop what came through it.
    await page.run("(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 2'; document.body.append(s); })()");
    await page.run("(() => { const d = document.createElement('div'); d.innerHTML = '<img src=x onerror=window.ran=3>'; document.body.append(d); })()");
    assert.equal(await page.run("fetch('http://127.0.0.1:9/').then(() => 'left', () => 'held')"), "held");
    await page.settled();
    assert.equal(await page.run("window.ran"), undefined);
  },

  async "ten thousand frames scroll"() {
    const lines = [];
    for (let n = 0; n < 10000; n++) {
      lines.push(JSON.stringify({ rpc: "demo.Talk/Say", direction: n % 3 ? "response" : "request", ts: new Date(1.7e12 + n * 7).toISOString(), messageType: "demo.Say", message: { text: "line " + n } }));
    }
    const capture = join(home, "many.jsonl");
    writeFileSync(capture, lines.join("\n"));
    const url = report("many", ["-I", join(home, "proto"), capture]);
    const page = await browser.open(url);
    assert.equal((await page.run("document.getElementById('count-frames').textContent")).replace(/\D/g, ""), "10000");
    assert.ok(await page.run(rows) < 120, "only what is in sight is in the page");
    const spent = await page.run(`new Promise((done) => {
      const box = document.getElementById("list"), began = performance.now();
      let n = 0, busy = 0;
      const next = () => {
        const at = performance.now();
        box.scrollTop += 1900;
        box.dispatchEvent(new Event("scroll"));
        void box.offsetHeight;
        busy += performance.now() - at;
        if (++n < 100) requestAnimationFrame(next); else done(busy / n);
      };
      next();
    })`);
    assert.ok(spent < 50, "a step of scrolling takes " + spent + " ms");
    assert.ok(await page.run(rows) < 120);
    await page.press("G", true);
    assert.match(await page.run("document.querySelector('.row.chosen').textContent"), /line 9999/);
    const filtered = await page.run(`(() => { const began = performance.now(); const f = document.getElementById("filter"); f.value = "dir:request line -99"; f.dispatchEvent(new Event("input")); return performance.now() - began; })()`);
    assert.ok(filtered < 500, "filtering takes " + filtered + " ms");
    quiet(page, url);
  },

  async "captures without times, and without frames"() {
    const raw = report("raw", [fixture("good.bin")]);
    const page = await browser.open(raw);
    assert.equal(await page.run("document.getElementById('axis').textContent"), "order");
    await page.press("3");
    assert.equal(await page.run("/NaN|undefined|Infinity/.test(document.body.innerText)"), false);
    quiet(page, raw);
    const empty = join(home, "empty.har");
    writeFileSync(empty, JSON.stringify({ log: { version: "1.2", creator: { name: "test", version: "1" }, entries: [] } }));
    const url = report("empty", [empty]);
    const none = await browser.open(url);
    for (const key of ["j", "k", "2", "3", "1", "n", "p", "+", "0", "Enter"]) await none.press(key);
    quiet(none, url);
  },
};

let failed = 0;
try {
  for (const [name, test] of Object.entries(tests)) {
    if (process.argv[3] && !name.includes(process.argv[3])) continue;
    try {
      await test();
      console.log("ok   " + name);
    } catch (error) {
      failed += 1;
      console.log("FAIL " + name + "\n" + error.stack);
    }
  }
} finally {
  await browser.close();
  rmSync(home, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);

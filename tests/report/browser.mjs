// A headless Chromium, spoken to over a pipe (DevTools protocol): no port, no package, no network.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Browser {
  constructor(binary = process.env.CHROMIUM || "chromium") {
    this.home = mkdtempSync(join(tmpdir(), "rpcshark-report-"));
    this.child = spawn(binary, [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
      "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
      "--force-color-profile=srgb", "--user-data-dir=" + this.home, "--remote-debugging-pipe", "about:blank",
    ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.waiting = new Map();
    this.listeners = [];
    this.last = 0;
    let rest = "";
    this.child.stdio[4].on("data", (data) => {
      const parts = (rest + data).split("\0");
      rest = parts.pop();
      for (const part of parts) this.take(JSON.parse(part));
    });
    this.child.on("error", (error) => { throw error; });
  }

  take(message) {
    const wait = this.waiting.get(message.id);
    if (wait) {
      this.waiting.delete(message.id);
      if (message.error) wait.reject(new Error(message.error.message)); else wait.resolve(message.result);
    } else {
      for (const listener of this.listeners) listener(message);
    }
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.last;
    this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  /** A page at an address, loaded. */
  async open(url, { width = 1440, height = 900, dark = false, scale = 1 } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId);
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await page.send(domain + ".enable");
    await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: false });
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    const loaded = page.once("Page.loadEventFired");
    await page.send("Page.navigate", { url });
    await loaded;
    await page.settled();
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => this.child.on("exit", resolve));
    await this.send("Browser.close").catch(() => {});
    await ended;
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Page {
  constructor(browser, sessionId) {
    this.browser = browser;
    this.sessionId = sessionId;
    this.requests = [];
    this.dialogs = [];
    this.errors = [];
    this.listeners = new Map();
    browser.listeners.push((message) => {
      if (message.sessionId !== sessionId) return;
      const { method, params } = message;
      if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
      if (method === "Page.javascriptDialogOpening") {
        this.dialogs.push(params.message);
        this.send("Page.handleJavaScriptDialog", { accept: true }).catch(() => {});
      }
      if (method === "Runtime.exceptionThrown") this.errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
      if (method === "Log.entryAdded" && params.entry.level === "error") this.errors.push(params.entry.text);
      const waiting = this.listeners.get(method) || [];
      this.listeners.delete(method);
      waiting.forEach((resolve) => resolve(params));
    });
  }

  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }

  once(method) {
    return new Promise((resolve) => this.listeners.set(method, [...(this.listeners.get(method) || []), resolve]));
  }

  /** What an expression comes to, as JSON; a promise is waited for. */
  async run(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
    return result.value;
  }

  /** Waits until two frames are drawn. */
  settled() {
    return this.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))");
  }

  async press(key, shift = false) {
    const text = key.length === 1 ? key : undefined;
    const params = { key, text, modifiers: shift ? 8 : 0 };
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", ...params });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...params });
    await this.settled();
  }

  async type(text) {
    await this.send("Input.insertText", { text });
    await this.settled();
  }

  async mouse(type, x, y, more = {}) {
    await this.send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" || type === "mouseWheel" ? "none" : "left", clickCount: 1, ...more });
  }

  async click(selector) {
    const { x, y } = await this.run(`(() => { const b = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return { x: b.x + b.width / 2, y: b.y + b.height / 2 }; })()`);
    await this.mouse("mousePressed", x, y);
    await this.mouse("mouseReleased", x, y);
    await this.settled();
  }

  async screenshot() {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    return Buffer.from(data, "base64");
  }
}

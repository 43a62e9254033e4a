// What every browser test needs: a real server with a store of its own, a real browser, and a worker to do the tasks.
//
//   const server = await startServer();          the program that HANDOFF_PROGRAM names, on a port of its own
//   const page = await openPage(server, "#/tasks");
//   const [task] = await server.claim("email");  as a worker would
//
// Every page is watched: a script error, a violation of the Content-Security-Policy or a request to anybody else fails
// the test that opened it.
import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, afterEach } from "node:test";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const program = process.env.HANDOFF_PROGRAM;
assert.ok(program, "HANDOFF_PROGRAM must name the handoff program");
const patience = Number(process.env.HANDOFF_PATIENCE ?? 30_000); // For what must happen; nobody waits so long otherwise.

// -- The server -----------------------------------------------------------------------------------

const servers = new Set();

export class Server {
  constructor(folder, flags) {
    this.store = `sqlite:${join(folder, "tasks.db")}`;
    this.folder = folder;
    this.flags = flags;
    this.token = "";
  }

  async start(listen = "127.0.0.1:0") {
    const flags = ["serve", "--json", "--store", this.store, "--listen", listen, ...this.flags];
    this.process = spawn(program, flags, { stdio: ["ignore", "pipe", "pipe"] });
    this.log = "";
    this.process.stderr.on("data", (data) => (this.log += data));
    this.ended = once(this.process, "exit");
    servers.add(this);
    const lines = createInterface({ input: this.process.stdout });
    const first = await Promise.race([once(lines, "line"), this.ended.then(() => undefined)]);
    assert.ok(first, `the server did not start: ${this.log}`);
    this.url = JSON.parse(first[0]).url;
    return this;
  }

  async stop(signal = "SIGTERM") {
    servers.delete(this);
    this.process.kill(signal);
    await this.ended;
  }

  // With the same store, on the same port.
  restart() {
    return this.start(new URL(this.url).host);
  }

  createToken(role, name = role) {
    const text = execFileSync(program, ["token", "create", "--json", "--store", this.store, "--name", name, "--role", role]);
    return JSON.parse(text).token;
  }

  async call(method, path, body) {
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text ? JSON.parse(text) : null };
  }

  async ok(method, path, body) {
    const answer = await this.call(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  enqueue(task) {
    return this.ok("POST", "/v1/tasks", task);
  }

  // Takes tasks as a worker does; each can then be done, failed or reported on.
  async claim(queue, max = 1) {
    const body = { queues: [queue], max, wait: "30s", lease_for: "60s", worker: "test/1" };
    const { tasks } = await this.ok("POST", "/v1/claim", body);
    return tasks.map((task) => {
      const say = (what, more) => this.ok("POST", `/v1/tasks/${task.id}/${what}`, { lease: task.lease, ...more });
      return {
        ...task,
        done: (result) => say("done", { result }),
        fail: (error, more = {}) => say("fail", { error, ...more }),
        progress: (fraction, note) => say("extend", { for: "60s", progress: { fraction, note } }),
        log: (line) => say("log", { line }),
      };
    });
  }
}

export function startServer(...flags) {
  return new Server(mkdtempSync(join(tmpdir(), "handoff-browser-")), flags).start();
}

// -- The browser ----------------------------------------------------------------------------------

let browser;
const contexts = new Set();
let problems = [];

export async function openContext(options = {}) {
  browser ??= await chromium.launch({
    executablePath: process.env.HANDOFF_CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    ],
  });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light", ...options });
  context.setDefaultTimeout(patience);
  contexts.add(context);
  return context;
}

function watch(page, origin) {
  page.on("pageerror", (error) => problems.push(`script error: ${error.message}`));
  page.on("console", (message) => {
    const isAnswer = message.text().startsWith("Failed to load resource"); // A refusal, which the page shows.
    if (message.type() === "error" && !isAnswer) problems.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) problems.push(`a request to somebody else: ${request.url()}`);
  });
}

// In a context of its own, unless one is given: as a new tab in it.
export async function openPage(server, hash = "#/", options = {}, context = undefined) {
  context ??= await openContext(options);
  const page = await context.newPage();
  watch(page, new URL(server.url).origin);
  await page.goto(`${server.url}/${hash}`);
  return page;
}

export const see = (locator) => locator.first().waitFor({ state: "visible" });
export const seeGone = (locator) => locator.first().waitFor({ state: "hidden" });
export const go = (page, hash) => page.evaluate((to) => void (location.hash = to), hash);

// What is wrong for those who do not see, or cannot point.
export async function accessibilityProblems(page) {
  await page.evaluate(axe).catch(() => page.addInitScript(axe));
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((each) => `${each.id}: ${each.help}: ${each.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

export const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

afterEach(async () => {
  for (const each of contexts) await each.close();
  contexts.clear();
  const found = problems;
  problems = [];
  assert.deepEqual(found, []);
});

after(async () => {
  await browser?.close();
  for (const each of [...servers]) {
    await each.stop();
    rmSync(each.folder, { recursive: true, force: true });
  }
});

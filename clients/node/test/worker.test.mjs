// Working, against the real server.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { Defer, Fail, Handoff, Retry, StaleLeaseError, StoppingError, TimedOutError, Worker } from "../dist/index.js";
import { deferred, eventually, Proxy, Server } from "./server.mjs";

const email = { queue: "email", kind: "welcome" };
const untilAborted = (signal) => new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", resolve)));

async function setUp(t, options = {}) {
  const server = await Server.start(t);
  const proxy = await Proxy.start(t, server.port);
  const handoff = new Handoff({ url: server.url });
  const lines = [];
  const worker = new Worker(new Handoff({ url: proxy.url }), { queues: ["email"], log: (line) => lines.push(line), ...options });
  return { server, proxy, handoff, worker, lines };
}

test("no more handlers run at a time than allowed, and that many do", async (t) => {
  const { handoff, worker } = await setUp(t, { concurrency: 12 });
  const warnings = [];
  const onWarning = (warning) => warnings.push(warning.message);
  process.on("warning", onWarning);
  t.after(() => process.removeListener("warning", onWarning));
  let running = 0;
  const go = deferred();
  worker.handle("welcome", async () => {
    ++running;
    await go.promise;
  });
  const ids = await handoff.enqueueMany(Array.from({ length: 30 }, () => email));
  const run = worker.run();
  await eventually(() => running === 12);
  for (let i = 0; i < 20; ++i) await handoff.get(ids[0]); // Time in which one that claims too much would have done so.
  const { tasks } = await handoff.call("POST", "/v1/claim", { body: { queues: ["email"], max: 30 } });
  assert.deepEqual([running, tasks.length], [12, 18]); // The others are there for others.
  for (const { id, lease } of tasks) await handoff.call("POST", `/v1/tasks/${id}/release`, { body: { lease } });
  go.resolve();
  for (const id of ids) await handoff.result(id, { timeout: "60s" });
  worker.stop();
  assert.equal((await run).done, 30);
  assert.deepEqual(warnings, []); // Of Node, about too many listeners.
});

test("a lease is kept for as long as the handler works", async (t) => {
  const { handoff, worker } = await setUp(t, { leaseFor: "6s" });
  const began = deferred();
  const go = deferred();
  worker.handle("welcome", async () => {
    began.resolve();
    await go.promise;
    return "kept";
  });
  const run = worker.run();
  const { id } = await handoff.enqueue(email);
  await began.promise;
  // Another one waits for it for two leases, and gets nothing.
  const others = await handoff.call("POST", "/v1/claim", { body: { queues: ["email"], wait: "12s" }, timeoutMs: 60_000 });
  assert.equal(others, undefined);
  go.resolve();
  assert.equal(await handoff.result(id), "kept");
  assert.equal((await handoff.get(id)).attempt, 1);
  worker.stop();
  await run;
});

test("progress and lines are seen while the handler works", async (t) => {
  const { handoff, worker } = await setUp(t);
  const go = deferred();
  worker.handle("welcome", async (_, task) => {
    for (let i = 0; i <= 40; ++i) task.progress(i / 100, `row ${i}`);
    for (let i = 0; i < 3; ++i) task.log(`line ${i}`);
    await go.promise;
    task.log("the end");
  });
  const run = worker.run();
  const { id } = await handoff.enqueue(email);
  await eventually(async () => (await handoff.get(id)).progress.note === "row 40");
  assert.equal((await handoff.get(id)).progress.fraction, 0.4);
  await eventually(async () => (await handoff.log(id)).length === 3);
  go.resolve();
  await handoff.result(id);
  assert.deepEqual((await handoff.log(id)).map((each) => each.line), ["line 0", "line 1", "line 2", "the end"]);
  worker.stop();
  await run;
});

test("a thousand lines over a slow connection do not cost the lease, and all are kept", async (t) => {
  const { proxy, handoff, worker, lines } = await setUp(t, { leaseFor: "15s" });
  proxy.delayMs = 40; // One line at a time would take 40 s.
  worker.handle("welcome", (_, task) => {
    for (let i = 0; i < 1000; ++i) task.log(`line ${i} ${"x".repeat(3000)}`);
    return task.attempt;
  });
  const run = worker.run();
  const { id } = await handoff.enqueue(email);
  assert.equal(await handoff.result(id, { timeout: "60s" }), 1);
  worker.stop();
  assert.deepEqual(await run, { done: 1, failed: 0, deferred: 0, cancelled: 0, givenBack: 0, stale: 0 });
  const kept = await handoff.log(id);
  assert.deepEqual([kept.length, kept[0].line.slice(0, 7), kept[999].line.slice(0, 9)], [1000, "line 0 ", "line 999 "]);
  assert.deepEqual(lines, []);
});

test("lines that do not get through are given up rather than the lease", async (t) => {
  const { proxy, handoff, worker, lines } = await setUp(t, { leaseFor: "8s" });
  proxy.loses = (line) => /\/(log|outcomes) /.test(line);
  worker.handle("welcome", async (_, task) => {
    task.log("a line");
    await eventually(() => proxy.requests.filter((line) => line.includes("/extend ")).length >= 2);
    return task.attempt;
  });
  const run = worker.run();
  const { id } = await handoff.enqueue(email);
  assert.equal(await handoff.result(id, { timeout: "60s" }), 1);
  worker.stop();
  assert.equal((await run).done, 1);
  assert.deepEqual(lines, [`task ${id}: 1 of its lines could not be kept`]);
});

test("a worker that ends does not wait for its lease with lines that do not get through", { timeout: 60_000 }, async (t) => {
  const { proxy, handoff, worker, lines } = await setUp(t, { leaseFor: "10m", grace: 0 });
  proxy.loses = (line) => line.includes("/outcomes ");
  const began = deferred();
  worker.handle("welcome", (_, task) => {
    task.log("a line");
    began.resolve();
    return new Promise(() => {});
  });
  const run = worker.run();
  const { id } = await handoff.enqueue(email);
  await began.promise;
  worker.stop();
  assert.equal((await run).givenBack, 1);
  assert.deepEqual(lines, [`task ${id}: 1 of its lines could not be kept`]);
});

test("progress that the server does not take costs neither lines nor the lease", async (t) => {
  const { handoff, worker } = await setUp(t);
  worker.handle("welcome", (_, task) => {
    task.progress(17);
    task.log("a line");
  });
  const run = worker.run();
  const { id } = await handoff.enqueue(email);
  await handoff.result(id, { timeout: "60s" });
  assert.deepEqual((await handoff.log(id)).map((each) => each.line), ["a line"]);
  worker.stop();
  assert.equal((await run).done, 1);
});

test("what a handler throws is kept, and it is tried again; Retry, Defer and Fail say how", async (t) => {
  const { handoff, worker } = await setUp(t);
  await handoff.setQueue("email", { backoff: { kind: "fixed", delay: "1ms" } });
  worker.handle("welcome", (_, task) => {
    if (task.attempt === 1) throw new TypeError(`no such user \ud800${"x".repeat(100_000)}`);
    return `attempt ${task.attempt}`;
  });
  worker.handle("throttled", (_, task) => {
    if (task.attempt === 1) throw new Retry("1ms", "429");
    return "sent";
  });
  let deferrals = 0;
  worker.handle("early", (_, task) => {
    if (++deferrals < 3) throw new Defer("1ms");
    return `attempt ${task.attempt}`;
  });
  worker.handle("broken", () => {
    throw new Fail("no such address");
  });
  const run = worker.run();
  const ids = await handoff.enqueueMany(["welcome", "throttled", "early", "broken", "unknown"].map((kind) => ({ ...email, kind, max_attempts: kind === "unknown" ? 1 : 5 })));
  const tasks = await Promise.all(ids.map((id) => handoff.wait(id, { timeout: "60s" })));
  assert.deepEqual(tasks.map((each) => each.result ?? each.reason), [
    "attempt 2", "sent", "attempt 1", "no such address", 'Error: no handler for kind "unknown"; this worker knows welcome, throttled, early, broken',
  ]);
  assert.match(tasks[0].errors[0].message, /^TypeError: no such user \ufffdx+/);
  assert.equal(tasks[1].errors[0].message, "429");
  assert.deepEqual(tasks.map((each) => each.state), ["done", "done", "done", "dead", "dead"]);
  worker.stop();
  assert.deepEqual(await run, { done: 3, failed: 4, deferred: 2, cancelled: 0, givenBack: 0, stale: 0 });
});

test("a result that cannot be kept fails for good, and says why", async (t) => {
  const { handoff, worker } = await setUp(t);
  worker.handle("welcome", (payload) => (payload === "cyclic" ? 1n : "x".repeat(2 << 20)));
  const run = worker.run();
  const ids = await handoff.enqueueMany(["cyclic", "large"].map((payload) => ({ ...email, payload })));
  const [cyclic, large] = await Promise.all(ids.map((id) => handoff.wait(id, { timeout: "60s" })));
  assert.deepEqual([cyclic.state, large.state], ["dead", "dead"]);
  assert.match(cyclic.reason, /BigInt/);
  assert.match(large.reason, /1048576 bytes at most/);
  worker.stop();
  assert.equal((await run).failed, 2);
});

test("a handler that takes longer than its timeout is asked to stop, and has failed", async (t) => {
  const { handoff, worker } = await setUp(t, { leaseFor: "3s" });
  const never = deferred();
  worker.handle("welcome", async (payload, task) => {
    await (payload === "heeds" ? untilAborted(task.signal) : never.promise);
    assert.ok(task.signal.reason instanceof TimedOutError);
    throw new Error("interrupted");
  });
  const run = worker.run();
  const ids = await handoff.enqueueMany(["heeds", "does not"].map((payload) => ({ ...email, payload, timeout: "10ms", max_attempts: 1 })));
  const tasks = await Promise.all(ids.map((id) => handoff.wait(id, { timeout: "60s" })));
  assert.deepEqual(tasks.map((each) => each.reason), ["it took longer than 10ms: Error: interrupted", "it took longer than 10ms"]);
  never.resolve();
  worker.stop();
  assert.equal((await run).failed, 2);
});

test("an outcome whose answer is lost is said again, and recorded once", async (t) => {
  const { proxy, handoff, worker } = await setUp(t);
  const lost = new Set();
  proxy.loses = (line) => /\/(done|fail|defer)/.test(line) && !lost.has(line) && lost.add(line);
  let deferrals = 0;
  worker.handle("welcome", () => "sent");
  worker.handle("early", () => {
    if (++deferrals === 1) throw new Defer("1ms");
    return "sent";
  });
  worker.handle("broken", () => {
    throw new Fail("no such address");
  });
  const run = worker.run();
  const ids = await handoff.enqueueMany(["welcome", "early", "broken"].map((kind) => ({ ...email, kind })));
  const tasks = await Promise.all(ids.map((id) => handoff.wait(id, { timeout: "60s" })));
  assert.deepEqual(tasks.map((each) => each.state), ["done", "done", "dead"]);
  worker.stop();
  assert.deepEqual(await run, { done: 2, failed: 1, deferred: 1, cancelled: 0, givenBack: 0, stale: 0 });
  assert.equal(proxy.losses, 4);
  for (const line of lost) assert.equal(proxy.requests.filter((each) => each === line).length, 2);
});

test("what a claim has got whose answer is lost is done all the same, and at no cost if the server knows claims by their ids", async (t) => {
  const { proxy, handoff, worker } = await setUp(t, { leaseFor: "30s" });
  const knowsIds = "/v1/claim/release" in (await handoff.call("GET", "/openapi.json")).paths;
  await handoff.setQueue("email", { backoff: { kind: "fixed", delay: "1ms" } });
  const { id } = await handoff.enqueue(email);
  // Such servers refuse the first claim, which names an id, and are asked without.
  const claims = () => proxy.requests.filter((line) => line.includes("/v1/claim ")).length;
  proxy.loses = (line) => line.includes("/v1/claim ") && claims() === (knowsIds ? 1 : 2);
  worker.handle("welcome", (_, task) => task.attempt);
  const run = worker.run();
  await handoff.result(id, { timeout: "60s" });
  assert.equal(proxy.losses, 1);
  assert.equal((await handoff.get(id)).crashes, knowsIds ? 0 : 1);
  worker.stop();
  assert.equal((await run).done, 1);
});

test("a handler whose lease is lost is told", async (t) => {
  const { proxy, handoff, worker } = await setUp(t, { leaseFor: "1s" });
  proxy.loses = (line) => line.includes("/extend");
  const told = deferred();
  worker.handle("welcome", async (_, task) => {
    await untilAborted(task.signal);
    told.resolve(task.signal.reason);
    proxy.loses = () => false;
    throw task.signal.reason;
  });
  const run = worker.run();
  await handoff.enqueue(email);
  assert.ok((await told.promise) instanceof StaleLeaseError);
  worker.stop();
  assert.equal((await run).stale, 1);
});

test("a worker that stops lets its handlers finish, and claims no more", async (t) => {
  const { handoff, worker } = await setUp(t, { concurrency: 1 });
  const began = deferred();
  worker.handle("welcome", async (_, task) => {
    began.resolve();
    await untilAborted(task.stopping);
    return "finished";
  });
  const [first, second] = await handoff.enqueueMany([email, email]);
  const run = worker.run();
  await began.promise;
  worker.stop();
  assert.deepEqual(await run, { done: 1, failed: 0, deferred: 0, cancelled: 0, givenBack: 0, stale: 0 });
  assert.equal((await handoff.get(first)).result, "finished");
  assert.equal((await handoff.get(second)).state, "ready");
});

test("a worker that has ended is not seen any longer, and two of one process are two", async (t) => {
  const { handoff, worker } = await setUp(t);
  const other = new Worker(handoff, { queues: ["email"] });
  const names = async () => (await handoff.call("GET", "/v1/workers")).workers.map((each) => each.name).filter((name) => !name.startsWith("push/")); // The server's own.
  const [run, otherRun] = [worker.run(), other.run()];
  const both = await eventually(async () => {
    const found = await names();
    return found.length === 2 && found;
  });
  other.stop();
  await otherRun;
  const [left] = await names();
  assert.ok(both.includes(left));
  worker.stop();
  await run;
  assert.deepEqual(await names(), []);
});

test("a worker ends although nobody answers when it leaves", async (t) => {
  const { proxy, worker } = await setUp(t);
  const run = worker.run();
  await eventually(() => proxy.requests.length > 0);
  proxy.loses = (line) => line.includes("/v1/workers/leave");
  worker.stop();
  assert.equal((await run).done, 0);
  assert.equal(proxy.losses, 1);
});

test("what is not finished when the grace is over goes back at once, at no cost", async (t) => {
  const { handoff, worker } = await setUp(t, { grace: 0 });
  const began = [deferred(), deferred()];
  worker.handle("heeds", async (_, task) => {
    began[0].resolve();
    await untilAborted(task.signal);
    assert.ok(task.signal.reason instanceof StoppingError);
    throw task.signal.reason;
  });
  worker.handle("does-not", () => {
    began[1].resolve();
    return new Promise(() => {});
  });
  const ids = await handoff.enqueueMany([{ ...email, kind: "heeds" }, { ...email, kind: "does-not" }]);
  const run = worker.run();
  await Promise.all(began.map((each) => each.promise));
  worker.stop();
  assert.equal((await run).givenBack, 2);
  for (const id of ids) {
    const task = await handoff.get(id);
    assert.deepEqual([task.state, task.attempt], ["ready", 0]);
  }
});

for (const tls of [false, true]) test(`a claim that waits ends with the worker, and loses nothing that comes with it${tls ? ", over TLS too" : ""}`, async (t) => {
  const server = await Server.start(t, { tls });
  const handoff = new Handoff({ url: server.url, ca: server.ca });
  for (let round = 0; round < 30; ++round) {
    const worker = new Worker(handoff, { queues: ["email"] });
    worker.handle("welcome", () => "done");
    const run = worker.run();
    await eventually(async () => (await handoff.call("GET", "/v1/workers")).workers.length > 0);
    const enqueued = handoff.enqueue(email);
    if (round % 3 === 1) await new Promise(setImmediate);
    if (round % 3 === 2) await enqueued;
    worker.stop(); // About when the claim is answered.
    const [{ stale }] = await Promise.all([run, enqueued]);
    assert.equal(stale, 0);
  }
  // Nobody holds any: each is done, or ready at once.
  const counts = await eventually(async () => {
    const { counts } = await handoff.queue("email");
    return counts.running === 0 && counts;
  });
  assert.equal(counts.ready + counts.done, 30);
  assert.deepEqual((await handoff.list({ queue: "email", state: "ready" })).tasks.map((each) => each.crashes).filter(Boolean), []);
});

test("a process that is told to end gives its tasks back", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url });
  const { id } = await handoff.enqueue(email);
  const program = `
    import { Handoff, Worker } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
    const worker = new Worker(new Handoff(), { queues: ["email"], grace: 0 });
    worker.handle("welcome", () => new Promise(() => {}));
    const report = await worker.run({ signals: ["SIGTERM"] });
    process.exit(report.givenBack === 1 ? 17 : 1);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: fileURLToPath(new URL("..", import.meta.url)), env: { ...process.env, HANDOFF_URL: server.url }, stdio: "inherit",
  });
  const ended = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  await eventually(async () => (await handoff.get(id)).state === "running");
  child.kill("SIGTERM");
  assert.equal(await ended, 17);
  const task = await handoff.get(id);
  assert.deepEqual([task.state, task.attempt, task.crashes], ["ready", 0, 0]);
});

test("a server that is killed again and again loses no task that it has accepted", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url, retryFor: "60s" });
  const lines = [];
  const worker = new Worker(handoff, { queues: ["email"], concurrency: 5, leaseFor: "5s", log: (line) => lines.push(line) });
  const ran = new Map();
  worker.handle("welcome", async (number, task) => {
    ran.set(task.id, (ran.get(task.id) ?? 0) + 1);
    await new Promise(setImmediate);
    return number;
  });
  const run = worker.run();
  const accepted = new Map();
  let number = 0;
  let isOver = false;
  const produce = async () => {
    while (!isOver) {
      const mine = number++;
      accepted.set((await handoff.enqueue({ ...email, payload: mine })).id, mine);
    }
  };
  const producers = [produce(), produce(), produce()];
  for (let kills = 0; kills < 4; ++kills) {
    const [before, done] = [accepted.size, ran.size];
    await eventually(() => accepted.size > before + 20 && ran.size > done + 5);
    await server.kill();
    await server.start();
  }
  isOver = true;
  await Promise.all(producers);
  await eventually(async () => (await handoff.queue("email")).counts.done === accepted.size);
  worker.stop();
  await run;
  assert.equal(number, accepted.size);
  for (const id of accepted.keys()) assert.ok(ran.get(id) >= 1, `${id} never ran`);
  for (const id of ran.keys()) assert.ok(accepted.has(id), `${id} was never accepted`);
  for (const [id, mine] of [...accepted].slice(0, 50)) assert.equal((await handoff.get(id)).result, mine);
  assert.ok(lines.includes("the server is back"));
});

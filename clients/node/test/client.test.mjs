// Handing in and looking, against the real server.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { CancelledError, FullError, Handoff, HandoffError, NotAllowedError, TaskFailedError, UnavailableError, WaitTimeoutError, Worker } from "../dist/index.js";
import { binary, deferred, eventually, Proxy, Server } from "./server.mjs";

const email = { queue: "email", kind: "welcome", payload: { to: "new@example.org" } };

// Throws what it was rejected with.
async function rejected(promise, type) {
  const error = await promise.then(() => assert.fail("was not rejected"), (why) => why);
  assert.ok(error instanceof type, `${type.name}, but was ${error?.stack}`);
  return error;
}

test("a task is stored with what it was given", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url });
  const { id, state, duplicate } = await handoff.enqueue({ ...email, priority: 7, group: "g", max_attempts: 3, delay: "1h" });
  assert.deepEqual([state, duplicate], ["scheduled", false]);
  const task = await handoff.get(id);
  assert.deepEqual(task.payload, email.payload);
  assert.deepEqual([task.priority, task.group, task.max_attempts, task.state], [7, "g", 3, "scheduled"]);
  assert.equal((await handoff.explain(id)).code, "future");
  assert.deepEqual((await handoff.list({ queue: "email", state: "scheduled" })).tasks.map((each) => each.id), [id]);
});

test("an id or a unique_key that is there already makes no second task, and says so", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url });
  const first = await handoff.enqueue({ ...email, unique_key: "ann" });
  assert.deepEqual(await handoff.enqueue({ ...email, unique_key: "ann" }), { ...first, duplicate: true });
  assert.equal((await handoff.enqueue({ ...email, id: first.id })).duplicate, true);
});

test("an enqueue whose answer is lost is made again, and is one task", async (t) => {
  const server = await Server.start(t);
  const proxy = await Proxy.start(t, server.port);
  proxy.loses = () => proxy.losses < 2;
  const handoff = new Handoff({ url: proxy.url });
  const { id, duplicate } = await handoff.enqueue(email);
  assert.equal(proxy.losses, 2);
  assert.equal(duplicate, false);
  assert.deepEqual((await handoff.list({ queue: "email" })).tasks.map((each) => each.id), [id]);
});

test("batches, workflows and changes whose answers are lost are made again, and happen once", async (t) => {
  const server = await Server.start(t);
  const proxy = await Proxy.start(t, server.port);
  const handoff = new Handoff({ url: proxy.url });
  const losesNext = () => {
    const before = proxy.losses;
    proxy.loses = () => proxy.losses === before;
  };
  losesNext();
  const ids = await handoff.enqueueMany([email, email, email]);
  losesNext();
  const started = await handoff.startWorkflow({ steps: [{ name: "a", task: email }] });
  losesNext();
  const cancelled = await handoff.cancel(ids[0], "no need");
  losesNext();
  const again = await handoff.retry(ids[0]);
  assert.equal(proxy.losses, 4);
  assert.equal(started.duplicate, false);
  assert.deepEqual([cancelled.state, cancelled.reason, again.state], ["cancelled", "no need", "ready"]);
  assert.equal((await handoff.list({ queue: "email" })).tasks.length, 4);
});

test("many tasks go in parts, and come back in order", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url });
  async function* many() {
    for (let i = 0; i < 10_002; ++i) yield { ...email, payload: i };
  }
  const ids = await handoff.enqueueMany(many());
  assert.equal(new Set(ids).size, 10_002);
  assert.equal((await handoff.get(ids[10_001])).payload, 10_001);
  const large = Array.from({ length: 12 }, () => ({ ...email, payload: "x".repeat(1_000_000) }));
  assert.equal((await handoff.enqueueMany(large)).length, 12);
});

test("a batch that is refused says which were stored, and where it is wrong", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url });
  const tasks = Array.from({ length: 10_005 }, (_, i) => ({ ...email, queue: i === 10_003 ? "e mail" : "email" }));
  const error = await rejected(handoff.enqueueMany(tasks), HandoffError);
  assert.deepEqual([error.code, error.field, error.accepted.length], ["bad_request", "[10003].queue", 10_000]);
});

test("a full queue is a FullError once the allowed time is over, and no error if there is room by then", async (t) => {
  const server = await Server.start(t);
  const proxy = await Proxy.start(t, server.port);
  const handoff = new Handoff({ url: proxy.url });
  await handoff.setQueue("email", { capacity: 1 });
  const { id } = await handoff.enqueue(email);
  const error = await rejected(handoff.enqueue(email, { retryFor: 0 }), FullError);
  assert.deepEqual([error.code, error.status], ["full", 503]);
  assert.match(error.message, /holds 1 of 1/);
  assert.ok(error.retryAfterMs >= 1000);

  const before = proxy.requests.length;
  const { answers } = proxy;
  const second = handoff.enqueue(email, { retryFor: "60s" });
  await eventually(() => proxy.answers > answers); // It was refused.
  await handoff.cancel(id);
  assert.equal((await second).state, "ready");
  const times = proxy.times.slice(before).filter((_, i) => proxy.requests[before + i].startsWith("POST /v1/tasks HTTP"));
  assert.ok(times[1] - times[0] >= 990, `Retry-After asks for a second or more, and it came after ${times[1] - times[0]} ms`);
});

test("what is wrong has its code, message and field, and is not tried again", async (t) => {
  const server = await Server.start(t);
  const proxy = await Proxy.start(t, server.port);
  const handoff = new Handoff({ url: proxy.url });
  const error = await rejected(handoff.enqueue({ ...email, priority: 1000 }), HandoffError);
  assert.deepEqual([error.code, error.status, error.field], ["bad_request", 400, "priority"]);
  assert.match(error.message, /-100 to 100/);
  assert.equal(proxy.requests.length, 1);
  assert.equal((await rejected(handoff.get("01a1e8d0-9b61-7000-9072-e55e3f0443e8"), HandoffError)).code, "not_found");
});

test("a token is sent; a wrong one is a NotAllowedError, for a worker too", async (t) => {
  const server = await Server.start(t);
  const made = execFileSync(binary, ["token", "create", "--store", server.store, "--name", "shop", "--role", "produce", "--json"], { encoding: "utf8" });
  const { token } = JSON.parse(made);
  const nobody = new Handoff({ url: server.url, token: "wrong" });
  const error = await eventually(() => nobody.enqueue(email).then(() => false, (why) => why));
  assert.ok(error instanceof NotAllowedError, error.stack);
  assert.equal(error.code, "unauthorized");
  const shop = new Handoff({ url: server.url, token });
  assert.equal((await shop.enqueue(email)).state, "ready");
  const worker = new Worker(shop, { queues: ["email"] });
  assert.equal((await rejected(worker.run(), NotAllowedError)).code, "forbidden");
});

test("a server that is away is an UnavailableError, and no error if it is back in time", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url });
  await handoff.enqueue(email);
  await server.kill();
  const error = await rejected(handoff.enqueue(email, { retryFor: "200ms" }), UnavailableError);
  assert.deepEqual([error.code, error.status], ["unreachable", 0]);
  const enqueued = handoff.enqueue(email, { retryFor: "60s" });
  await server.start();
  assert.equal((await enqueued).state, "ready");
});

test("result() gives what the handler returned, waits past a restart, and rejects if it failed for good", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url, retryFor: "60s" });
  const { id } = await handoff.enqueue(email);
  await rejected(handoff.wait(id, { timeout: "20ms" }), WaitTimeoutError);
  const result = handoff.result(id, { timeout: "60s" });
  await server.kill();
  await server.start();
  const { tasks: [claimed] } = await handoff.call("POST", "/v1/claim", { body: { queues: ["email"] } });
  await handoff.call("POST", `/v1/tasks/${id}/done`, { body: { lease: claimed.lease, result: { sent: true } } });
  assert.deepEqual(await result, { sent: true });

  const { id: other } = await handoff.enqueue(email);
  await handoff.cancel(other, "no need");
  const error = await rejected(handoff.result(other), TaskFailedError);
  assert.equal(error.task.state, "cancelled");
  assert.match(error.message, /no need/);
});

test("result() goes on if the connection breaks after more than retryFor, each time, and a server that does not come back is an UnavailableError", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url });
  const proxy = await Proxy.start(t, server.port);
  const { id } = await handoff.enqueue(email);
  const retryForMs = 400;
  const patient = new Handoff({ url: proxy.url, retryFor: retryForMs / 1000 });
  const result = patient.result(id);
  result.catch(() => {});
  const isWaitedForTooLong = (from) => eventually(() => proxy.requests.findIndex((line, at) => at >= from && line.includes("?wait=") && performance.now() > proxy.times[at] + retryForMs + 1) + 1);
  for (let cuts = 0, seen = 0; cuts < 2; ++cuts) {
    seen = await isWaitedForTooLong(seen);
    proxy.cut();
  }
  const { tasks: [claimed] } = await handoff.call("POST", "/v1/claim", { body: { queues: ["email"] } });
  await handoff.call("POST", `/v1/tasks/${id}/done`, { body: { lease: claimed.lease, result: { sent: true } } });
  assert.deepEqual(await result, { sent: true });

  const { id: other } = await handoff.enqueue(email);
  const seen = proxy.requests.length;
  const wait = patient.wait(other);
  wait.catch(() => {});
  await eventually(() => proxy.requests.length > seen);
  await server.kill();
  proxy.cut();
  await rejected(wait, UnavailableError);
});

test("a call that is aborted rejects with the reason, also while it waits to try again", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url });
  const { id } = await handoff.enqueue(email);
  const aborter = new AbortController();
  const waiting = handoff.wait(id, { signal: aborter.signal });
  aborter.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  await server.kill();
  const second = new AbortController();
  const trying = handoff.enqueue(email, { retryFor: "60s", signal: second.signal });
  second.abort(new Error("enough"));
  await assert.rejects(trying, /enough/);
});

test("the steps of a workflow get the results of those before them", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url });
  const worker = new Worker(handoff, { queues: ["shop"] });
  worker.handle("charge", () => ({ receipt: 17 }));
  worker.handle("mail", (_, task) => `receipt ${task.inputs.charge.receipt}`);
  const run = worker.run();
  const { id, tasks } = await handoff.startWorkflow({
    name: "checkout",
    steps: [
      { name: "charge", task: { queue: "shop", kind: "charge" } },
      { name: "mail", after: ["charge"], task: { queue: "shop", kind: "mail" } },
    ],
  });
  const workflow = await handoff.waitForWorkflow(id, { timeout: "60s" });
  assert.equal(workflow.state, "done");
  assert.equal(await handoff.result(tasks.mail), "receipt 17");
  worker.stop();
  assert.equal((await run).done, 2);
});

test("a cancelled task tells its handler, and its result counts no more", async (t) => {
  const server = await Server.start(t);
  const handoff = new Handoff({ url: server.url });
  const worker = new Worker(handoff, { queues: ["email"], leaseFor: "3s" });
  const began = deferred();
  const told = deferred();
  worker.handle("welcome", async (_, task) => {
    began.resolve();
    await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
    told.resolve(task.signal.reason);
    return "too late";
  });
  const run = worker.run();
  const { id } = await handoff.enqueue(email);
  await began.promise;
  await handoff.cancel(id, "no need");
  assert.ok((await told.promise) instanceof CancelledError);
  worker.stop();
  const report = await run;
  assert.deepEqual([report.cancelled, report.done], [1, 0]);
  const task = await handoff.get(id);
  assert.deepEqual([task.state, task.result], ["cancelled", undefined]);
});

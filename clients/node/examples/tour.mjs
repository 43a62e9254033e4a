// All of the client in one program: what docs/guide/node.md shows. Needs a server: `handoff serve`.
//
//   node examples/tour.mjs
import { Defer, Fail, FullError, Handoff, Retry, TaskFailedError, Worker } from "handoff-client";

const handoff = new Handoff({ url: process.env.HANDOFF_URL, retryFor: "10s" });

// -- Handing in -----------------------------------------------------------------------------------

const { id } = await handoff.enqueue({ queue: "email", kind: "welcome", payload: { to: "new@example.org" }, max_attempts: 8 });

const users = ["ann@example.org", "bob@example.org", "throttled@example.org", "nobody"];
const ids = await handoff.enqueueMany(users.map((to) => ({ queue: "email", kind: "welcome", payload: { to } })));

await handoff.setQueue("tiny", { capacity: 1 });
await handoff.enqueue({ queue: "tiny", kind: "click" });
try {
  await handoff.enqueue({ queue: "tiny", kind: "click" }, { retryFor: "100ms" });
} catch (error) {
  if (!(error instanceof FullError)) throw error;
  console.log(error.message); // queue "tiny" holds 1 of 1 tasks
}

// -- Working --------------------------------------------------------------------------------------

const worker = new Worker(handoff, { queues: ["email", "shop"], concurrency: 20, grace: "10s" });

let isThrottled = true;
worker.handle("welcome", async ({ to }, task) => {
  if (!to.includes("@")) throw new Fail(`${to} is no address`); // dead now: it will be no better next time
  if (to.startsWith("throttled") && isThrottled) {
    isThrottled = false;
    throw new Defer("10ms"); // not now; costs no attempt
  }
  if (task.attempt === 1 && to.startsWith("bob")) throw new Retry("10ms", "451"); // failed; tried again in 10 ms
  task.log(`sending to ${to}`); // kept with the task
  return { sent: to }; // its result
});
worker.handle("charge", () => ({ receipt: 17 }));
worker.handle("receipt", (_, task) => `receipt ${task.inputs.charge.receipt}`);

const stop = new AbortController();
const run = worker.run({ signal: stop.signal }); // or { signals: ["SIGTERM", "SIGINT"] }

// -- Looking --------------------------------------------------------------------------------------

console.log(await handoff.result(id, { timeout: "1m" })); // { sent: 'new@example.org' }
for (const each of ids.slice(0, 3)) await handoff.result(each, { timeout: "1m" });
try {
  await handoff.result(ids[3], { timeout: "1m" });
} catch (error) {
  if (!(error instanceof TaskFailedError)) throw error;
  console.log(error.task.state, error.task.reason); // dead nobody is no address
}
for (const { line } of await handoff.log(ids[0])) console.log(line); // sending to ann@example.org

const later = await handoff.enqueue({ queue: "email", kind: "welcome", payload: { to: "a@b.c" }, delay: "1h" });
console.log((await handoff.explain(later.id)).code); // future
await handoff.cancel(later.id, "changed my mind");

const checkout = await handoff.startWorkflow({
  name: "checkout-17",
  steps: [
    { name: "charge", task: { queue: "shop", kind: "charge" } },
    { name: "receipt", after: ["charge"], task: { queue: "shop", kind: "receipt" } },
  ],
});
console.log(await handoff.result(checkout.tasks.receipt, { timeout: "1m" })); // receipt 17

stop.abort();
const { done, failed, deferred } = await run;
console.log(`done ${done}, failed ${failed}, deferred ${deferred}`); // done 6, failed 2, deferred 1

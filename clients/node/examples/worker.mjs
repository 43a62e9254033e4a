// Makes reports until it is told to end by Ctrl-C or SIGTERM. Needs a server: `handoff serve`.
//
//   node examples/worker.mjs
import { Handoff, Worker } from "handoff-client";

const worker = new Worker(new Handoff(), { queues: ["report"], concurrency: 4 });

worker.handle("monthly", async ({ month }, task) => {
  for (let day = 1; day <= 30; ++day) {
    task.signal.throwIfAborted(); // Cancelled, too late, or the lease is lost.
    await addToReport(month, day);
    task.progress(day / 30, `day ${day}`);
  }
  return { file: `2026-${month}.pdf` }; // Kept with the task.
});

// SIGTERM: claims no more, lets handlers finish for 25 s, gives back the rest.
const report = await worker.run({ signals: ["SIGTERM", "SIGINT"] });
console.log(`done ${report.done}, given back ${report.givenBack}`);

async function addToReport(month, day) {
  if (month < 1 || month > 12) throw new RangeError(`there is no month ${month}, so no day ${day} of it`);
}

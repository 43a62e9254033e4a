// Hands in a report and waits for it. Needs a server (`handoff serve`) and a worker (worker.mjs, or one in another language).
//
//   node examples/producer.mjs 11
import { Handoff } from "handoff-client";

const month = Number(process.argv[2] ?? 11);

const handoff = new Handoff(); // HANDOFF_URL, or http://127.0.0.1:8077; HANDOFF_TOKEN, if there are tokens
const { id } = await handoff.enqueue({ queue: "report", kind: "monthly", payload: { month } });
console.log(`handed in ${id}`); // It is stored: neither side can lose it now.

const report = await handoff.result(id, { timeout: "5m" });
console.log(`done: ${report.file}`);

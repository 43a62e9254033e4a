import { expect, it } from "vitest";
import type { Worker } from "../api/types";
import { lastHeard } from "../pages/workers";
import { placeOf } from "./try_it";

it("what was set off is watched where most of it is seen", () => {
  const thing = { queue: "orders" };
  expect(placeOf(thing, { message: "", tasks: ["a"], workflow: "w" }).href).toBe("#/workflows/w");
  expect(placeOf(thing, { message: "", tasks: ["a"] }).href).toBe("#/tasks/a");
  expect(placeOf(thing, { message: "", tasks: ["a", "b"] }).href).toBe("#/queues/orders");
  expect(placeOf(thing, { message: "" }).href).toBe("#/queues/orders");
});

it("a worker was heard of when it took what it runs, if it was not seen later", () => {
  const worker: Worker = { name: "w", queues: [], kinds: [], started_at: "2026-11-18T12:00:00Z", seen_at: "2026-11-18T12:00:00Z", running: [] };
  expect(lastHeard(worker)).toBe("2026-11-18T12:00:00Z");
  const running = [{ task: "t", queue: "q", kind: "k", since: "2026-11-18T12:05:00Z" }];
  expect(lastHeard({ ...worker, running })).toBe("2026-11-18T12:05:00Z");
});

import { expect, it } from "vitest";
import type { Task } from "../api/types";
import { moments } from "./moments";

const task: Task = {
  id: "x", queue: "q", kind: "k", state: "ready", priority: 0, attempt: 0, max_attempts: 3, crashes: 0,
  created_at: "2026-11-18T12:00:00Z", run_at: "2026-11-18T12:00:00Z", progress: { fraction: 0 }, errors: [], after: [],
};
const titles = (changes: Partial<Task>) => moments({ ...task, ...changes }).map((each) => each.title);

it("a timeline has what happened, in that order", () => {
  expect(titles({
    state: "dead", attempt: 2, started_at: "2026-11-18T12:01:00Z", finished_at: "2026-11-18T12:02:00Z",
    errors: [{ attempt: 1, at: "2026-11-18T12:00:30Z", message: "a" }, { attempt: 2, at: "2026-11-18T12:02:00Z", message: "b" }],
  })).toEqual(["Created", "Attempt 1 failed", "Attempt 2 began", "Attempt 2 failed", "Dead"]);
});

it("a timeline says what comes next", () => {
  expect(titles({ state: "scheduled", attempt: 1, run_at: "2026-11-18T13:00:00Z", errors: [{ attempt: 1, at: "2026-11-18T12:00:30Z", message: "a" }] }))
    .toEqual(["Created", "Attempt 1 failed", "Attempt 2 is due"]);
});

it("a task that runs has begun, and one that waits has not", () => {
  expect(titles({ state: "running", attempt: 1, started_at: "2026-11-18T12:00:01Z" })).toEqual(["Created", "Attempt 1 began"]);
  expect(titles({})).toEqual(["Created"]);
});

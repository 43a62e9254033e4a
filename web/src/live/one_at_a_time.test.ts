import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { oneAtATime } from "./one_at_a_time";
import { throttle } from "./throttle";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

// A server that takes its time.
function slow(takes: number) {
  const seen = { asked: 0, answered: 0, aborted: 0 };
  const load = async (signal: AbortSignal) => {
    seen.asked++;
    signal.addEventListener("abort", () => seen.aborted++);
    await new Promise((resolve) => setTimeout(resolve, takes));
    if (!signal.aborted) seen.answered++;
  };
  return { seen, ...oneAtATime(load) };
}

it("an answer that takes longer than the time between changes comes all the same", async () => {
  const server = slow(400);
  const refresh = throttle(server.ask, 250);
  server.ask();
  for (let i = 0; i < 60; i++) {
    await vi.advanceTimersByTimeAsync(160);
    refresh();
  }
  expect(server.seen.aborted).toBe(0);
  expect(server.seen.answered).toBeGreaterThanOrEqual(20);
});

it("what changed while an answer was on its way is asked for once more", async () => {
  const server = slow(400);
  server.ask();
  await vi.advanceTimersByTimeAsync(100);
  server.ask();
  server.ask();
  await vi.advanceTimersByTimeAsync(5000);
  expect(server.seen).toEqual({ asked: 2, answered: 2, aborted: 0 });
});

it("what is abandoned is not asked for again, until somebody does", async () => {
  const server = slow(400);
  server.ask();
  server.ask();
  server.abandon();
  await vi.advanceTimersByTimeAsync(5000);
  expect(server.seen).toEqual({ asked: 1, answered: 0, aborted: 1 });
  server.ask();
  await vi.advanceTimersByTimeAsync(5000);
  expect(server.seen).toEqual({ asked: 2, answered: 1, aborted: 1 });
});

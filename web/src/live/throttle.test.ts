import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { throttle } from "./throttle";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("runs at once, then not more often than asked, and never loses the last", () => {
  const work = vi.fn();
  const ask = throttle(work, 1000);
  ask();
  expect(work).toHaveBeenCalledTimes(1);
  for (let i = 0; i < 50; i++) ask();
  expect(work).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1000);
  expect(work).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(5000);
  expect(work).toHaveBeenCalledTimes(2);
});

it("does nothing more once it is cancelled", () => {
  const work = vi.fn();
  const ask = throttle(work, 1000);
  ask();
  ask();
  ask.cancel();
  vi.advanceTimersByTime(5000);
  expect(work).toHaveBeenCalledTimes(1);
});

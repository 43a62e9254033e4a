import { describe, expect, it } from "vitest";
import { states } from "../api/types";
import { continues, emptyHistory, type HistoryPart, merged, spanNeeded } from "./history";

const start = Date.parse("2026-11-18T12:00:00Z") / 1000;

function part(second: number, values: number[]): HistoryPart {
  return {
    from: new Date((start + second) * 1000).toISOString(),
    step: "1s",
    in: values,
    done: values,
    failed: values,
    rejected: values,
    depth: values,
    wait_ms_p50: values.map(() => null),
    wait_ms_p99: values.map(() => null),
    states: Object.fromEntries(states.map((each) => [each, values])) as HistoryPart["states"],
  };
}

describe("history", () => {
  it("goes on with what is new, and what both have is as the newer says", () => {
    const history = merged(merged(emptyHistory(), part(0, [1, 2, 3]), 300), part(2, [30, 4]), 300);
    expect(history.in).toEqual([1, 2, 30, 4]);
    expect(history.states.dead).toEqual([1, 2, 30, 4]);
    expect(history.times).toEqual([0, 1, 2, 3].map((each) => start + each));
  });
  it("keeps no more than asked", () => {
    expect(merged(emptyHistory(), part(0, [1, 2, 3, 4]), 2).in).toEqual([3, 4]);
  });
  it("draws no line over the time of which nobody knows", () => {
    const history = merged(merged(emptyHistory(), part(0, [1, 2]), 300), part(60, [5]), 300);
    expect(history.in).toEqual([1, 2, null, 5]);
    expect(history.times.length).toBe(4);
  });
  it("asks for all at first, then for what is missing", () => {
    const history = merged(emptyHistory(), part(0, [1, 2, 3]), 300);
    expect(spanNeeded(emptyHistory(), start * 1000, 300)).toBe(300);
    expect(spanNeeded(history, (start + 12) * 1000, 300)).toBe(12);
    expect(spanNeeded(history, (start + 9999) * 1000, 300)).toBe(300);
  });
  it("knows whether seconds are missing between", () => {
    const history = merged(emptyHistory(), part(0, [1, 2, 3]), 300);
    expect([continues(history, part(3, [4])), continues(history, part(1, [4])), continues(history, part(4, [4]))]).toEqual([true, true, false]);
    expect([continues(emptyHistory(), part(0, [4])), continues(history, undefined)]).toEqual([false, false]);
  });
});

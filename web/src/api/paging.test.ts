import { describe, expect, it, vi } from "vitest";
import { lookFurther, noneTitle, type TaskPage } from "./paging";
import type { Task } from "./types";

const task = { id: "a" } as Task;
const serving = (pages: Record<string, TaskPage>) => vi.fn((cursor: string) => Promise.resolve(pages[cursor] ?? { tasks: [] }));

describe("lookFurther", () => {
  it("goes over empty pages to the first that has tasks", async () => {
    const ask = serving({ "9": { tasks: [], next_cursor: "6" }, "6": { tasks: [], next_cursor: "3" }, "3": { tasks: [task], next_cursor: "1" } });
    expect(await lookFurther("9", ask)).toEqual({ tasks: [task], next_cursor: "1" });
    expect(ask.mock.calls).toEqual([["9"], ["6"], ["3"]]);
  });
  it("asks once where the first page has tasks, or where there are no more", async () => {
    for (const page of [{ tasks: [task], next_cursor: "1" }, { tasks: [] }]) {
      const ask = serving({ "9": page });
      expect(await lookFurther("9", ask)).toEqual(page);
      expect(ask).toHaveBeenCalledOnce();
    }
  });
  it("stops after so many pages, and says where to go on", async () => {
    const ask = vi.fn((cursor: string) => Promise.resolve({ tasks: [], next_cursor: String(Number(cursor) - 1) }));
    expect(await lookFurther("90", ask, 4)).toEqual({ tasks: [], next_cursor: "86" });
    expect(ask).toHaveBeenCalledTimes(4);
  });
});

describe("a page without tasks", () => {
  it("says that there are none only if all were looked at", () => {
    expect(noneTitle({ isFiltered: true, isFirst: true, hasMore: true })).toBe("None among the newest that were looked at.");
    expect(noneTitle({ isFiltered: true, isFirst: false, hasMore: true })).toBe("None among those that were looked at so far.");
    expect(noneTitle({ isFiltered: true, isFirst: false, hasMore: false })).toBe("No older task is like that.");
    expect(noneTitle({ isFiltered: true, isFirst: true, hasMore: false })).toBe("No task is like that.");
    expect(noneTitle({ isFiltered: false, isFirst: true, hasMore: false })).toBe("No tasks yet.");
  });
});

// Pages of a list. A server looks at a bounded number of tasks for each, so with a rare filter a page may be empty and
// yet say where to go on.
import type { Task } from "./types";

export interface TaskPage {
  tasks: Task[];
  next_cursor?: string;
}

export const mostPages = 10; // That are asked for at a time: each may cost the server a look at 100,000 tasks.

// The first page from `cursor` on that has tasks, or the last that was asked for.
export async function lookFurther(cursor: string, ask: (cursor: string) => Promise<TaskPage>, most = mostPages): Promise<TaskPage> {
  let page = await ask(cursor);
  for (let pages = 1; pages < most && page.tasks.length === 0 && page.next_cursor; pages++) page = await ask(page.next_cursor);
  return page;
}

// What to say of a page without tasks.
export function noneTitle({ isFiltered, isFirst, hasMore }: { isFiltered: boolean; isFirst: boolean; hasMore: boolean }): string {
  if (hasMore) return isFirst ? "None among the newest that were looked at." : "None among those that were looked at so far.";
  if (!isFirst) return "No older task is like that.";
  return isFiltered ? "No task is like that." : "No tasks yet.";
}

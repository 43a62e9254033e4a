// What the stream should tell of while a page is open. Only of what may exist: half a name is refused.
import { isId, isQueueName } from "../parts/names";
import type { Route } from "../parts/route";

export interface Filter {
  queue?: string;
  task?: string;
  workflow?: string;
}

// For pages that show how it is going, and no tasks: there is none with this id, so that only statistics come.
export const noTasks: Filter = { task: "00000000-0000-0000-0000-000000000000" };

export function filterOf({ path: [place, name], query: { queue = "" } }: Route): Filter {
  if (place === "tasks" && name === undefined && queue === "") return {};
  if (place === "tasks" && name === undefined && isQueueName(queue)) return { queue };
  if (place === "queues" && name !== undefined && isQueueName(name)) return { queue: name, ...noTasks };
  if (place === "tasks" && name !== undefined && isId(name)) return { task: name };
  if (place === "workflows" && name !== undefined && isId(name)) return { workflow: name };
  return noTasks;
}

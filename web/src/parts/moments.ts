// What has happened to a task, and what comes next.
import { isFinished, type Task } from "../api/types";

export interface Moment {
  at: string;
  title: string;
  kind: string;
  text?: string | undefined;
}

const ends: Partial<Record<string, string>> = { done: "Done", dead: "Dead", cancelled: "Cancelled" };

// In the order in which it happened. The time at which an attempt began is known of the last one only.
export function moments(task: Task): Moment[] {
  const all: Moment[] = [{ at: task.created_at, title: "Created", kind: "created" }];
  for (const each of task.errors) {
    all.push({ at: each.at, title: `Attempt ${each.attempt} failed`, kind: "dead", text: each.message });
  }
  const isRunning = task.state === "running";
  if (task.started_at && (isRunning || isFinished(task.state))) {
    all.push({ at: task.started_at, title: `Attempt ${task.attempt} began`, kind: "running", text: task.worker && `by ${task.worker}` });
  }
  if (task.finished_at) {
    const text = task.state === "cancelled" ? task.reason : undefined;
    all.push({ at: task.finished_at, title: ends[task.state] ?? "Ended", kind: task.state, text });
  } else if (task.state === "scheduled") {
    all.push({ at: task.run_at, title: task.attempt > 0 ? `Attempt ${task.attempt + 1} is due` : "Due", kind: "scheduled" });
  }
  return all
    .map((moment, index) => ({ moment, index }))
    .sort((a, b) => Date.parse(a.moment.at) - Date.parse(b.moment.at) || a.index - b.index)
    .map(({ moment }) => moment);
}

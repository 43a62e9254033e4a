// What goes over the wire, by the names that docs/http-api.md gives it.
import type { Duration } from "./duration.js";

export type TaskState = "scheduled" | "waiting" | "ready" | "running" | "done" | "dead" | "cancelled";

export interface NewTask<Payload = unknown> {
  queue: string;
  kind: string;
  payload?: Payload;
  delay?: Duration;
  run_at?: string;
  priority?: number;
  max_attempts?: number;
  timeout?: Duration;
  /** A UUID; made here otherwise. */
  id?: string;
  unique_key?: string;
  unique_for?: Duration;
  expires_in?: Duration;
  group?: string;
  after?: string[];
  notify?: { url: string };
  trace?: string;
}

export interface Enqueued {
  id: string;
  state: TaskState;
  /** There was one with that id or unique_key; the id is that one's. */
  duplicate: boolean;
}

export interface Progress {
  fraction: number;
  note?: string;
}

export interface Task<Payload = unknown, Result = unknown> {
  id: string;
  queue: string;
  kind: string;
  payload: Payload;
  state: TaskState;
  priority: number;
  attempt: number;
  max_attempts: number;
  crashes: number;
  timeout?: string;
  created_at: string;
  run_at: string;
  started_at?: string;
  finished_at?: string;
  progress: Progress;
  result?: Result;
  /** Why it is dead or cancelled. */
  reason?: string;
  errors: { attempt: number; at: string; message: string }[];
  worker?: string;
  group?: string;
  unique_key?: string;
  trace?: string;
  after?: string[];
  workflow?: string;
  step?: string;
  notify?: { url: string };
}

export interface TaskFilter {
  queue?: string;
  kind?: string;
  state?: TaskState;
  group?: string;
  limit?: number;
  cursor?: string;
}

export interface TaskPage {
  tasks: Task[];
  next_cursor?: string;
}

export interface Explanation {
  id: string;
  code:
    | "running" | "finished" | "paused" | "future" | "waiting_for" | "rate_limited" | "concurrency_limited" | "group_busy"
    | "no_worker" | "next" | "queued";
  message: string;
  position?: number;
}

export interface LogLine {
  number: number;
  at: string;
  line: string;
}

export interface NewWorkflow {
  name?: string;
  id?: string;
  steps: { name: string; after?: string[]; task: NewTask }[];
}

export interface StartedWorkflow {
  id: string;
  /** Step -> id of its task. */
  tasks: Record<string, string>;
  duplicate: boolean;
}

export interface Workflow {
  id: string;
  name: string;
  state: string;
  created_at: string;
  finished_at?: string;
  unfinished: number;
  steps: {
    name: string;
    task: string;
    queue: string;
    kind: string;
    state: TaskState;
    progress: number;
    result?: unknown;
    reason?: string;
    after: string[];
  }[];
}

/** What POST /v1/claim gives. */
export interface Claimed {
  id: string;
  queue: string;
  kind: string;
  payload: unknown;
  attempt: number;
  max_attempts: number;
  lease: string;
  lease_until: string;
  timeout?: string;
  group?: string;
  trace?: string;
  inputs?: Record<string, unknown>;
}

// What the server says, as docs/http-api.md has it. What has no value is left out of an answer.
import type { RawJson } from "./raw";

export const states = ["scheduled", "waiting", "ready", "running", "done", "dead", "cancelled"] as const;
export type State = (typeof states)[number];
export type Counts = Record<State, number>;
export const isFinished = (state: State): boolean => state === "done" || state === "dead" || state === "cancelled";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type Role = "produce" | "work" | "admin";

export interface ServerLook {
  version: string;
  started_at: string;
  store: string;
  demo: boolean;
  auth: boolean;
  role: Role;
  now: string;
}

export interface Rates {
  in: number;
  done: number;
  failed: number;
  rejected: number;
}

export interface Quantiles {
  p50?: string;
  p95?: string;
  p99?: string;
}

export interface Backoff {
  kind: "sidekiq" | "exponential" | "fixed";
  base?: string;
  factor?: number;
  max?: string;
  delay?: string;
  jitter?: number;
}

export interface Settings {
  capacity: number;
  capacity_bytes: number;
  when_full: "reject" | "drop_newest" | "block";
  block_for: string;
  rate: string;
  burst: number;
  concurrency: number;
  group_concurrency: number;
  lease_for: string;
  max_attempts: number;
  backoff: Backoff;
  ageing: string;
  burst_for: string;
  keep_done: string;
  keep_dead: string;
  keep_count: number;
  deliver_to?: { url: string; timeout?: string; secret?: string } | null;
}

export interface Queue {
  name: string;
  paused: boolean;
  counts: Counts;
  unfinished: number;
  bytes: number;
  oldest_ready_age?: string;
  rates: Rates;
  wait_time: Quantiles;
  run_time: Quantiles;
  advice?: { capacity: number; message: string };
  settings: Settings;
}

export interface Task {
  id: string;
  queue: string;
  kind: string;
  state: State;
  priority: number;
  attempt: number;
  max_attempts: number;
  crashes: number;
  timeout?: string;
  created_at: string;
  run_at: string;
  started_at?: string;
  finished_at?: string;
  progress: { fraction: number; note?: string };
  reason?: string;
  errors: { attempt: number; at: string; message: string }[];
  worker?: string;
  group?: string;
  unique_key?: string;
  trace?: string;
  after: string[];
  workflow?: string;
  step?: string;
  notify?: { url: string };
  undecoded?: string;
  payload?: RawJson;
  result?: RawJson;
}

export interface Explanation {
  id: string;
  code: string;
  message: string;
  position?: number;
}

export interface LogLine {
  number: number;
  at: string;
  line: string;
}

export type WorkflowState = "running" | "done" | "failed" | "cancelled" | State;

export interface Step {
  name: string;
  task: string;
  queue: string;
  kind: string;
  state: State;
  progress: number;
  reason?: string;
  after: string[];
  result?: Json;
}

export interface Workflow {
  id: string;
  name: string;
  state: WorkflowState;
  created_at: string;
  finished_at?: string;
  unfinished: number;
  steps?: Step[];
}

export interface Schedule {
  name: string;
  cron: string;
  timezone: string;
  missed: string;
  task: { queue: string; kind: string; payload?: Json };
  paused: boolean;
  next_at?: string;
  last_at?: string;
  last_task?: string;
  last_error?: string;
}

export interface Worker {
  name: string;
  queues: { name: string; concurrency: number }[];
  kinds: string[];
  started_at: string;
  seen_at: string;
  running: { task: string; queue: string; kind: string; since?: string }[];
}

export interface DeadGroup {
  queue: string;
  kind: string;
  reason: string;
  count: number;
  latest: string;
  example: string;
}

export interface Totals {
  queues: number;
  paused: number;
  counts: Counts;
  unfinished: number;
  capacity: number;
  bytes: number;
  oldest_ready_age?: string;
  rates: Rates;
  wait_time: Quantiles;
  run_time: Quantiles;
}

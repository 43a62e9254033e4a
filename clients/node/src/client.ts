// Hands tasks in, and looks what became of them.
//
//   const handoff = new Handoff({ url: "http://127.0.0.1:8077" });
//   const { id } = await handoff.enqueue({ queue: "email", kind: "welcome", payload: { to: "new@example.org" } });
//   const sent = await handoff.result(id, { timeout: "1m" });
//
// What is answered is stored. Every call may be lost on its way, in either direction: then it is made again, for `retryFor` at most, with growing pauses, and as the
// server's Retry-After asks. That makes no second task, because each has its id before it is sent.
import { backoff, monotonicNow, pause, toDuration, toMillis, type Duration } from "./duration.js";
import { errorOf, HandoffError, WaitTimeoutError } from "./errors.js";
import { newId } from "./ids.js";
import type {
  Enqueued, Explanation, LogLine, NewTask, NewWorkflow, StartedWorkflow, Task, TaskFilter, TaskPage, TaskState, Workflow,
} from "./model.js";
import { Transport, type Answer, type Request } from "./transport.js";

export interface HandoffOptions {
  /** Otherwise HANDOFF_URL, or http://127.0.0.1:8077. */
  url?: string;
  /** Otherwise HANDOFF_TOKEN, or none. */
  token?: string;
  /** How long a call is tried again while the server is away, or the queue is full; a wait, from when the server went away. 10s. */
  retryFor?: Duration;
  /** For one try. 30s. */
  timeout?: Duration;
  /** Of the server's certificate, if it is one of your own. */
  ca?: string | Buffer;
}

export interface CallOptions {
  /** 0: once. */
  retryFor?: Duration;
  /** Aborted: the call rejects with its reason. What was sent may have been done. */
  signal?: AbortSignal;
}

export interface WaitOptions extends CallOptions {
  /** Otherwise for as long as it takes. */
  timeout?: Duration;
}

export interface Call extends CallOptions {
  body?: unknown;
  /** Instead of body. */
  text?: string;
  contentType?: string;
  timeoutMs?: number;
  /** Aborted: the server is asked to answer now. */
  hurry?: AbortSignal;
  /** Until when it is tried again, on the monotonic clock; instead of retryFor. */
  until?: () => number;
}

/** A task that has ended, but not well. */
export class TaskFailedError extends Error {
  override name = "TaskFailedError";
  constructor(readonly task: Task) {
    super(`task ${task.id} (${task.kind}) is ${task.state}: ${task.reason ?? task.errors.at(-1)?.message ?? "no reason was given"}`);
  }
}

const finished: readonly TaskState[] = ["done", "dead", "cancelled"];
const longestWaitMs = 60_000; // Of one request.
const mostInBatch = 10_000;
const largestBatch = 4 << 20; // Bytes; the server takes 8 MiB.

/** A server. Keeps connections open between calls. */
export class Handoff {
  readonly #transport: Transport;
  readonly #retryForMs: number;
  readonly #timeoutMs: number;

  constructor(options: HandoffOptions = {}) {
    this.#transport = new Transport({
      url: options.url ?? process.env["HANDOFF_URL"] ?? "http://127.0.0.1:8077",
      token: options.token ?? process.env["HANDOFF_TOKEN"],
      ca: options.ca,
    });
    this.#retryForMs = toMillis(options.retryFor ?? "10s");
    this.#timeoutMs = toMillis(options.timeout ?? "30s");
  }

  get retryForMs(): number {
    return this.#retryForMs;
  }

  /** Closes the connections that are kept open; a process ends without it, too. */
  close(): void {
    this.#transport.close();
  }

  // -- Handing in ---------------------------------------------------------------------------------

  /** Resolves when it is stored. Rejects with a FullError if there was no room for all of retryFor. */
  async enqueue<Payload = unknown>(task: NewTask<Payload>, options: CallOptions = {}): Promise<Enqueued> {
    const id = task.id ?? newId();
    const answer = (await this.call("POST", "/v1/tasks", { ...options, body: { ...task, id } })) as Enqueued;
    // An id that was made here is known only by an earlier try of this call, whose answer was lost.
    const isOurs = task.id === undefined && answer.id === id;
    return { id: answer.id, state: answer.state, duplicate: answer.duplicate && !isOurs };
  }

  /**
   * Any number, in requests of at most 10,000 tasks and some MiB. Each request is stored as a whole or not at all; if one is refused, the error's `accepted` has the ids of those before it,
   * and its `field` the index among all: "[10017].queue".
   */
  async enqueueMany(tasks: Iterable<NewTask> | AsyncIterable<NewTask>, options: CallOptions = {}): Promise<string[]> {
    const ids: string[] = [];
    let lines: string[] = [];
    let bytes = 0;
    const send = async (): Promise<void> => {
      if (lines.length > 0) await this.#sendBatch(lines, ids, options);
      lines = [];
      bytes = 0;
    };
    for await (const task of tasks) {
      const line = JSON.stringify({ ...task, id: task.id ?? newId() });
      const size = Buffer.byteLength(line) + 1;
      if (lines.length === mostInBatch || (lines.length > 0 && bytes + size > largestBatch)) await send();
      lines.push(line);
      bytes += size;
    }
    await send();
    return ids;
  }

  async #sendBatch(lines: string[], ids: string[], options: CallOptions): Promise<void> {
    try {
      const body = { ...options, text: lines.join("\n"), contentType: "application/x-ndjson" };
      const answer = (await this.call("POST", "/v1/tasks/batch", body)) as { ids: string[] };
      for (const id of answer.ids) ids.push(id);
    } catch (error) {
      if (!(error instanceof HandoffError)) throw error;
      // A server may be set to take less at a time. That it is one task which is too large has a field.
      if (error.code === "too_large" && error.field === undefined && lines.length > 1) {
        const half = lines.length >> 1;
        await this.#sendBatch(lines.slice(0, half), ids, options);
        return this.#sendBatch(lines.slice(half), ids, options);
      }
      if (error.accepted) throw error;
      const field = error.field?.replace(/^\[(\d+)\]/, (_, index: string) => `[${Number(index) + ids.length}]`);
      const { status, retryAfterMs } = error;
      const told = errorOf(error.code, error.message, { status, field, retryAfterMs, cause: error });
      told.accepted = [...ids];
      throw told;
    }
  }

  // -- Looking ------------------------------------------------------------------------------------

  async get<Payload = unknown, Result = unknown>(id: string, options: CallOptions = {}): Promise<Task<Payload, Result>> {
    return (await this.call("GET", `/v1/tasks/${encodeURIComponent(id)}`, options)) as Task<Payload, Result>;
  }

  /** The task, when it has finished. Rejects with a WaitTimeoutError if it has not by then. */
  async wait<Payload = unknown, Result = unknown>(id: string, options: WaitOptions = {}): Promise<Task<Payload, Result>> {
    const isOver = (task: Task): boolean => finished.includes(task.state);
    return (await this.#waitFor(`/v1/tasks/${encodeURIComponent(id)}`, `task ${id}`, isOver, options)) as Task<Payload, Result>;
  }

  /** What its handler has returned. Rejects with a TaskFailedError if it is dead or cancelled. */
  async result<Result = unknown>(id: string, options: WaitOptions = {}): Promise<Result> {
    const task = await this.wait<unknown, Result>(id, options);
    if (task.state !== "done") throw new TaskFailedError(task);
    return task.result as Result;
  }

  async list(filter: TaskFilter = {}, options: CallOptions = {}): Promise<TaskPage> {
    return (await this.call("GET", `/v1/tasks${query({ ...filter })}`, options)) as TaskPage;
  }

  /** Why it is not running. */
  async explain(id: string, options: CallOptions = {}): Promise<Explanation> {
    return (await this.call("GET", `/v1/tasks/${encodeURIComponent(id)}/explain`, options)) as Explanation;
  }

  /** What its handlers have said. */
  async log(id: string, options: CallOptions = {}): Promise<LogLine[]> {
    return ((await this.call("GET", `/v1/tasks/${encodeURIComponent(id)}/log`, options)) as { lines: LogLine[] }).lines;
  }

  // -- Changing: with a token of the role admin ---------------------------------------------------

  async cancel(id: string, reason = "", options: CallOptions = {}): Promise<Task> {
    return this.#change(id, "cancel", { ...options, body: reason === "" ? {} : { reason } });
  }

  /** Runs a finished one again. */
  async retry(id: string, options: CallOptions = {}): Promise<Task> {
    return this.#change(id, "retry", options);
  }

  // If it was done, and only the answer was lost, then the second try finds nothing to do.
  async #change(id: string, verb: string, call: Call): Promise<Task> {
    const path = `/v1/tasks/${encodeURIComponent(id)}`;
    let losses = 0;
    try {
      return (await this.call("POST", `${path}/${verb}`, call, () => ++losses)) as Task;
    } catch (error) {
      if (losses > 0 && error instanceof HandoffError && error.code === "conflict") return this.get(id, { ...call, body: undefined } as Call);
      throw error;
    }
  }

  /** Sets what is named, and leaves the rest: docs/http-api.md has the names. */
  async setQueue(name: string, settings: Record<string, unknown>, options: CallOptions = {}): Promise<Record<string, unknown>> {
    return (await this.call("PUT", `/v1/queues/${encodeURIComponent(name)}`, { ...options, body: settings })) as Record<string, unknown>;
  }

  async queue(name: string, options: CallOptions = {}): Promise<Record<string, unknown>> {
    return (await this.call("GET", `/v1/queues/${encodeURIComponent(name)}`, options)) as Record<string, unknown>;
  }

  // -- Workflows ----------------------------------------------------------------------------------

  /** Stores all steps, or none. */
  async startWorkflow(workflow: NewWorkflow, options: CallOptions = {}): Promise<StartedWorkflow> {
    const id = workflow.id ?? newId();
    const answer = (await this.call("POST", "/v1/workflows", { ...options, body: { ...workflow, id } })) as StartedWorkflow;
    return { ...answer, duplicate: answer.duplicate && workflow.id !== undefined };
  }

  async workflow(id: string, options: CallOptions = {}): Promise<Workflow> {
    return (await this.call("GET", `/v1/workflows/${encodeURIComponent(id)}`, options)) as Workflow;
  }

  /** The workflow, when all of its steps have ended. */
  async waitForWorkflow(id: string, options: WaitOptions = {}): Promise<Workflow> {
    const isOver = (workflow: Workflow): boolean => workflow.finished_at !== undefined;
    return this.#waitFor(`/v1/workflows/${encodeURIComponent(id)}`, `workflow ${id}`, isOver, options);
  }

  async cancelWorkflow(id: string, options: CallOptions = {}): Promise<Workflow> {
    return (await this.call("POST", `/v1/workflows/${encodeURIComponent(id)}/cancel`, options)) as Workflow;
  }

  /** Its steps that are dead or cancelled. */
  async retryWorkflow(id: string, options: CallOptions = {}): Promise<Workflow> {
    return (await this.call("POST", `/v1/workflows/${encodeURIComponent(id)}/retry`, options)) as Workflow;
  }

  // -- How it is asked ----------------------------------------------------------------------------

  async #waitFor<T>(path: string, what: string, isOver: (look: T) => boolean, options: WaitOptions): Promise<T> {
    const deadline = options.timeout === undefined ? Infinity : monotonicNow() + toMillis(options.timeout);
    for (;;) {
      const began = monotonicNow();
      const waitMs = Math.min(longestWaitMs, Math.max(0, deadline - began));
      const call = { retryFor: 0, signal: options.signal, timeoutMs: waitMs + this.#timeoutMs };
      const waited = this.call("GET", `${path}?wait=${toDuration(waitMs)}`, call as Call);
      const look = (await waited.catch((error: unknown) => this.#lookAgain(path, error, deadline, options))) as T;
      if (isOver(look)) return look;
      if (monotonicNow() >= deadline) throw new WaitTimeoutError("timed_out", `${what} has not finished within ${options.timeout}`);
      // A server that ends answers early.
      if (monotonicNow() - began < waitMs / 2) await pause(backoff(1), options.signal);
    }
  }

  // The server has all of retryFor to come back, from when it went away, however long it was waited for before. Whether it is back is asked without waiting.
  async #lookAgain(path: string, error: unknown, deadline: number, options: CallOptions): Promise<unknown> {
    if (!(error instanceof HandoffError) || !mayPass(error)) throw error;
    const now = monotonicNow();
    const ends = Math.min(deadline, now + (options.retryFor === undefined ? this.#retryForMs : toMillis(options.retryFor)));
    const delay = delayBefore(1, error);
    if (now + delay > ends) throw error;
    await pause(delay, options.signal);
    options.signal?.throwIfAborted();
    const timeoutMs = Math.min(this.#timeoutMs, Math.max(1000, deadline - monotonicNow()));
    return this.call("GET", path, { signal: options.signal, timeoutMs, until: () => ends } as Call);
  }

  /** One call, made again while that may help: the body of its answer. `onLoss` hears of each try that had no answer. For what this class has no method for. */
  async call(method: string, path: string, call: Call = {}, onLoss: () => void = () => {}): Promise<unknown> {
    return (await this.#tryFor(method, path, call, onLoss)).body;
  }

  async #tryFor(method: string, path: string, call: Call, onLoss: () => void): Promise<Answer> {
    const request: Request = {
      method,
      path,
      body: call.text ?? (call.body === undefined ? undefined : JSON.stringify(call.body)),
      timeoutMs: call.timeoutMs ?? this.#timeoutMs,
      signal: call.signal,
      hurry: call.hurry,
      ...(call.contentType ? { contentType: call.contentType } : {}),
    };
    const ends = monotonicNow() + (call.retryFor === undefined ? this.#retryForMs : toMillis(call.retryFor));
    for (let number = 1; ; ++number) {
      try {
        return await this.#transport.send(request);
      } catch (error) {
        if (!(error instanceof HandoffError) || !mayPass(error)) throw error;
        if (error.status === 0) onLoss();
        const delay = delayBefore(number, error);
        if (monotonicNow() + delay > (call.until?.() ?? ends)) throw error;
        await pause(delay, call.signal, call.hurry);
        call.signal?.throwIfAborted();
        if (call.hurry?.aborted) throw error;
      }
    }
  }
}

// Before it is tried again; no shorter than the server asks for.
function delayBefore(number: number, error: HandoffError): number {
  return Math.max(backoff(number), (error.retryAfterMs ?? 0) * (1 + Math.random() / 4));
}

/** True if the same request may be answered otherwise a little later. */
export function mayPass(error: HandoffError): boolean {
  return ["full", "unavailable", "unreachable", "internal"].includes(error.code);
}

function query(parameters: Record<string, unknown>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) search.set(name, String(value));
  return `?${search}`;
}

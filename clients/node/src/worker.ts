// Works on tasks: handlers by kind, so many at a time.
//
//   const worker = new Worker(handoff, { queues: ["email"], concurrency: 20 });
//   worker.handle<{ to: string }>("welcome", async ({ to }, task) => {
//     await smtp.send(to, { signal: task.signal });
//     return { sent: true }; // kept as the result
//   });
//   await worker.run({ signals: ["SIGTERM", "SIGINT"] });
//
// A handler that returns is done; one that throws has failed, and is tried again as its queue says. It may throw a Defer, a Retry or a Fail instead. While it runs, its lease is extended.
// It is asked to stop by `task.signal`: the task was cancelled, its lease is lost, it takes longer than its timeout, or the worker ends and its grace is over. Then what it does no longer
// counts, except for the last two: who throws because the worker ends gives the task back, and who returns is done.
//
// The end, in steps:
//   1. stop(), or a signal. Nothing is claimed any more; the claim that waits is ended, and what came with it goes back.
//   2. Handlers may go on for `grace`. task.stopping tells those who want to know.
//   3. task.signal is aborted. Who does not end soon is given back all the same: a process that exits now loses nothing.
//   4. The server is told that the worker leaves, so that it is not seen any longer.
import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import { mayPass, type Call, type Handoff } from "./client.js";
import { backoff, monotonicNow, pause, toDuration, toMillis, type Duration } from "./duration.js";
import { CancelledError, Defer, Fail, HandoffError, Retry, StoppingError, TimedOutError } from "./errors.js";
import { newId } from "./ids.js";
import { isOver, Lease, wellFormed } from "./lease.js";
import type { Claimed } from "./model.js";

export interface WorkerOptions {
  /** Looked at in this order. */
  queues: string[];
  /** Handlers at a time. 10. */
  concurrency?: number;
  /** After so long without a sign of life a task is given to somebody else. 30s. */
  leaseFor?: Duration;
  /** How long handlers may go on after stop(). 25s. */
  grace?: Duration;
  /** How the server calls it; otherwise host and process, and from the second of a process on a number. */
  name?: string;
  /** Of one claim. 30s. */
  wait?: Duration;
  /** Of what goes wrong. console.error. */
  log?: (message: string) => void;
}

export interface RunOptions {
  /** Aborted: as stop(). */
  signal?: AbortSignal;
  /** Of the process: the first is as stop(), a second one ends the process. */
  signals?: NodeJS.Signals[];
}

export interface WorkerReport {
  done: number;
  failed: number;
  deferred: number;
  /** By somebody, while they ran. */
  cancelled: number;
  /** Unfinished when it stopped. */
  givenBack: number;
  /** Their lease was lost, or what became of them could not be told: others try them again. */
  stale: number;
}

/** What a handler knows of its task, and can say about it. */
export interface Attempt {
  readonly id: string;
  readonly queue: string;
  readonly kind: string;
  /** From 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly group: string | undefined;
  readonly trace: string | undefined;
  /** Results of the steps before it, in a workflow. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Aborted: stop. Its reason says why. */
  readonly signal: AbortSignal;
  /** Aborted: the worker ends, but the handler may go on for the grace. */
  readonly stopping: AbortSignal;
  /** Told soon; the last counts. */
  progress(fraction: number, note?: string): void;
  /** Kept with the task: handoff.log(id). */
  log(line: string): void;
}

export type Handler<Payload = unknown, Result = unknown> = (payload: Payload, task: Attempt) => Result | Promise<Result>;

const mostAtOnce = 1000;
const longestError = 16_384;
const endsSoonMs = 1000;
const leaveForMs = 1000;

/** Works on tasks, `concurrency` at a time, until it is stopped. */
export class Worker {
  readonly #handoff: Handoff;
  readonly #options: Required<Omit<WorkerOptions, "leaseFor" | "grace" | "wait">>;
  readonly #leaseForMs: number;
  readonly #graceMs: number;
  readonly #waitMs: number;
  readonly #handlers = new Map<string, Handler<never>>();
  #anyHandler: Handler<never> | undefined;
  readonly #stopping = new AbortController(); // Step 1.
  readonly #hurrying = new AbortController(); // Step 3.
  readonly #running = new Set<Promise<void>>();
  readonly #report: WorkerReport = { done: 0, failed: 0, deferred: 0, cancelled: 0, givenBack: 0, stale: 0 };
  #onRoom: () => void = () => {}; // Wakes the loop that claims, if it waits for room.
  #usesClaimIds = true; // As far as is known: servers of before do not take them.
  #lostClaim: string | undefined; // Its answer did not come, and may have held tasks.
  #hasRun = false;

  constructor(handoff: Handoff, options: WorkerOptions) {
    this.#handoff = handoff;
    setMaxListeners(0, this.#stopping.signal, this.#hurrying.signal); // Each handler listens.
    const { concurrency = 10, name = ownName(), log = (message) => console.error(`handoff: ${message}`) } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) throw new TypeError(`concurrency is a whole number from 1, got ${concurrency}`);
    if (options.queues.length === 0) throw new TypeError("a worker needs a queue");
    this.#options = { queues: [...options.queues], concurrency, name, log };
    this.#leaseForMs = toMillis(options.leaseFor ?? "30s");
    this.#graceMs = toMillis(options.grace ?? "25s");
    this.#waitMs = toMillis(options.wait ?? "30s");
    if (this.#leaseForMs < 1000) throw new TypeError("leaseFor is 1s at least");
  }

  /** What to do with tasks of a kind. */
  handle<Payload = unknown, Result = unknown>(kind: string, handler: Handler<Payload, Result>): this {
    if (this.#handlers.has(kind)) throw new TypeError(`kind "${kind}" has a handler already`);
    this.#handlers.set(kind, handler as Handler<never>);
    return this;
  }

  /** For tasks of all kinds that have no handler of their own; task.kind says which. */
  handleAny<Payload = unknown, Result = unknown>(handler: Handler<Payload, Result>): this {
    this.#anyHandler = handler as Handler<never>;
    return this;
  }

  /** Works until it is stopped. Survives a server that is away; rejects if the server does not let it in, or does not understand it, after all handlers have ended. Once for each worker. */
  async run(options: RunOptions = {}): Promise<WorkerReport> {
    if (this.#hasRun) throw new Error("a worker runs once");
    this.#hasRun = true;
    const stop = (): void => this.stop();
    if (options.signal?.aborted) stop();
    options.signal?.addEventListener("abort", stop);
    const signals = options.signals ?? [];
    const onSignal = (): void => {
      for (const each of signals) process.removeListener(each, onSignal);
      stop();
    };
    for (const each of signals) process.on(each, onSignal);
    try {
      await this.#claimAndStart();
    } finally {
      this.stop();
      await Promise.all([this.#finish(), this.#releaseLostClaim(undefined).catch(() => {})]);
      await this.#leave();
      options.signal?.removeEventListener("abort", stop);
      for (const each of signals) process.removeListener(each, onSignal);
    }
    return { ...this.#report };
  }

  /** Any number of times; run() resolves when all handlers have ended. */
  stop(): void {
    this.#stopping.abort(new StoppingError("the worker ends"));
    this.#onRoom();
  }

  // -- Claiming -----------------------------------------------------------------------------------

  async #claimAndStart(): Promise<void> {
    const { concurrency } = this.#options;
    const stopping = this.#stopping.signal;
    for (let failures = 0; !stopping.aborted;) {
      const room = Math.min(concurrency - this.#running.size, mostAtOnce);
      if (room <= 0) {
        await new Promise<void>((resolve) => (this.#onRoom = resolve));
        continue;
      }
      try {
        const claimed = await this.#claim(room);
        if (failures > 0) this.#options.log("the server is back");
        failures = 0;
        for (const each of claimed) this.#take(each);
      } catch (error) {
        if (!(error instanceof HandoffError) || !mayPass(error)) throw error;
        if (++failures === 1 && !stopping.aborted) this.#options.log(`cannot claim tasks, and tries again: ${error.message}`);
        await pause(Math.max(backoff(failures), error.retryAfterMs ?? 0), stopping);
      }
    }
  }

  async #claim(max: number): Promise<Claimed[]> {
    await this.#releaseLostClaim(0);
    const id = this.#usesClaimIds ? newId() : undefined;
    const body = { queues: this.#options.queues, max, wait: toDuration(this.#waitMs), lease_for: toDuration(this.#leaseForMs), worker: this.#options.name, claim_id: id };
    const call = { body, retryFor: 0, hurry: this.#stopping.signal, timeoutMs: this.#waitMs + 30_000 };
    try {
      const answer = (await this.#handoff.call("POST", "/v1/claim", call)) as { tasks: Claimed[] } | undefined;
      return answer?.tasks ?? [];
    } catch (error) {
      if (!(error instanceof HandoffError)) throw error;
      if (error.status === 0) this.#lostClaim = id;
      if (id === undefined || error.code !== "bad_request" || error.field !== "claim_id") throw error;
      this.#usesClaimIds = false;
      return [];
    }
  }

  // Otherwise what it has got would wait until its leases end.
  async #releaseLostClaim(retryFor: Duration | undefined): Promise<void> {
    if (this.#lostClaim === undefined) return;
    try {
      await this.#handoff.call("POST", "/v1/claim/release", { body: { claim_id: this.#lostClaim }, retryFor, timeoutMs: 5000 } as Call);
    } catch (error) {
      if (error instanceof HandoffError && mayPass(error)) throw error;
    }
    this.#lostClaim = undefined;
  }

  #take(claimed: Claimed): void {
    const running: Promise<void> = (this.#stopping.signal.aborted ? this.#giveBack(claimed) : this.#work(claimed))
      .catch((error) => this.#options.log(`task ${claimed.id}: ${textOf(error)}`))
      .finally(() => {
        this.#running.delete(running);
        this.#onRoom();
      });
    this.#running.add(running);
  }

  async #giveBack(claimed: Claimed): Promise<void> {
    const lease = new Lease(this.#handoff, claimed, this.#leaseForMs, () => {});
    await lease.close();
    await this.#conclude(lease, claimed, "release", {}, "givenBack");
  }

  // -- One task -----------------------------------------------------------------------------------

  async #work(claimed: Claimed): Promise<void> {
    const aborter = new AbortController();
    const lease = new Lease(this.#handoff, claimed, this.#leaseForMs, (why) => aborter.abort(why));
    const hurrying = this.#hurrying.signal;
    const hurry = (): void => {
      lease.hurry();
      aborter.abort(hurrying.reason);
    };
    hurrying.addEventListener("abort", hurry);
    const timeoutMs = claimed.timeout === undefined ? undefined : toMillis(claimed.timeout);
    const timer = timeoutMs === undefined ? undefined : setTimer(timeoutMs, () => aborter.abort(new TimedOutError(`it took longer than ${claimed.timeout}`)));
    const handler = this.#call(claimed, lease, aborter.signal);
    try {
      // Whoever is asked to stop has a moment; then it is told what became of the task, and what the handler says no longer counts.
      const ended = await Promise.race([handler, this.#patience(aborter.signal)]);
      timer?.cancel();
      const givenUp = await lease.close();
      if (givenUp > 0) this.#options.log(`task ${claimed.id}: ${givenUp} of its lines could not be kept`);
      await this.#tell(lease, claimed, ended, aborter.signal);
      await endOf(handler, hurrying); // It takes up its place until it ends.
    } finally {
      hurrying.removeEventListener("abort", hurry);
    }
  }

  async #call(claimed: Claimed, lease: Lease, signal: AbortSignal): Promise<Ended> {
    const handler = this.#handlers.get(claimed.kind) ?? this.#anyHandler;
    try {
      if (!handler) throw new Error(`no handler for kind "${claimed.kind}"; this worker knows ${[...this.#handlers.keys()].join(", ") || "none"}`);
      return { result: await handler(claimed.payload as never, this.#attempt(claimed, lease, signal)) };
    } catch (error) {
      return { error };
    }
  }

  #attempt(claimed: Claimed, lease: Lease, signal: AbortSignal): Attempt {
    return {
      id: claimed.id,
      queue: claimed.queue,
      kind: claimed.kind,
      attempt: claimed.attempt,
      maxAttempts: claimed.max_attempts,
      group: claimed.group,
      trace: claimed.trace,
      inputs: claimed.inputs ?? {},
      signal,
      stopping: this.#stopping.signal,
      progress: (fraction, note) => lease.progress({ fraction, ...(note === undefined ? {} : { note: wellFormed(note) }) }),
      log: (line) => lease.log(line),
    };
  }

  // Resolves a moment after the signal, with its reason.
  async #patience(signal: AbortSignal): Promise<Ended> {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await pause(signal.reason instanceof TimedOutError ? this.#leaseForMs / 3 : endsSoonMs);
    return { error: signal.reason };
  }

  async #tell(lease: Lease, claimed: Claimed, ended: Ended, signal: AbortSignal): Promise<void> {
    const why: unknown = signal.aborted ? signal.reason : undefined;
    if (why instanceof CancelledError) return void ++this.#report.cancelled;
    if (isOver(why) && why.cause === undefined) return void ++this.#report.stale; // The server has said so.
    if (!("error" in ended)) return this.#tellDone(lease, claimed, ended.result);
    const { error } = ended;
    if (error instanceof Defer) return this.#conclude(lease, claimed, "defer", { for: error.later }, "deferred");
    if (error instanceof Fail) return this.#conclude(lease, claimed, "fail", { error: textOf(error.message), dead: true }, "failed");
    if (error instanceof Retry) return this.#conclude(lease, claimed, "fail", { error: textOf(error.message), retry_in: error.after }, "failed");
    if (why instanceof StoppingError) return this.#conclude(lease, claimed, "release", {}, "givenBack");
    if (isOver(why)) return void ++this.#report.stale; // Unconfirmed for a whole lease, and not finished: others try it again.
    const text = !(why instanceof TimedOutError) ? textOf(error) : error === why ? why.message : `${why.message}: ${textOf(error)}`;
    return this.#conclude(lease, claimed, "fail", { error: textOf(text) }, "failed");
  }

  async #tellDone(lease: Lease, claimed: Claimed, result: unknown): Promise<void> {
    try {
      JSON.stringify(result);
    } catch (error) {
      return this.#refuse(lease, claimed, error, true);
    }
    return this.#conclude(lease, claimed, "done", { result: result ?? null }, "done");
  }

  async #conclude(lease: Lease, claimed: Claimed, verb: Verb, body: Record<string, unknown>, count: keyof WorkerReport): Promise<void> {
    try {
      await lease.tell(verb, body);
      ++this.#report[count];
    } catch (error) {
      if (error instanceof CancelledError) return void ++this.#report.cancelled;
      const isRefused = error instanceof HandoffError && (error.code === "bad_request" || error.code === "too_large");
      if (isRefused && Object.keys(body).some((name) => name !== "error")) return this.#refuse(lease, claimed, error, verb === "done");
      ++this.#report.stale;
      this.#options.log(`task ${claimed.id}: could not say "${verb}", so that it is tried again when its lease ends: ${textOf(error)}`);
    }
  }

  // What a handler has returned or thrown cannot be sent. A result will be no better next time.
  #refuse(lease: Lease, claimed: Claimed, error: unknown, isForGood: boolean): Promise<void> {
    const text = textOf(`what the handler says cannot be kept: ${textOf(error)}`);
    if (!isForGood) return this.#conclude(lease, claimed, "fail", { error: text }, "failed");
    return lease.tell("fail", { error: text, dead: true }).then(
      () => void ++this.#report.failed,
      () => void ++this.#report.stale,
    );
  }

  // -- The end ------------------------------------------------------------------------------------

  async #finish(): Promise<void> {
    const all = (async () => {
      while (this.#running.size > 0) await Promise.race(this.#running);
    })();
    const grace = new AbortController();
    await Promise.race([all, pause(this.#graceMs, grace.signal)]);
    grace.abort();
    this.#hurrying.abort(new StoppingError("the worker ends, and its grace is over"));
    await all;
  }

  // Otherwise it would be seen for two minutes more. That is all, so it is said once.
  async #leave(): Promise<void> {
    const call = { body: { worker: this.#options.name }, retryFor: 0, timeoutMs: leaveForMs };
    await this.#handoff.call("POST", "/v1/workers/leave", call).catch(() => {});
  }
}

let workers = 0; // Of this process, without names of their own.

function ownName(): string {
  const name = `${hostname()}/${process.pid}`;
  return ++workers === 1 ? name : `${name}/${workers}`;
}

type Verb = "done" | "fail" | "defer" | "release";
type Ended = { result: unknown } | { error: unknown };

// Resolves when the promise does, or the signal is aborted.
async function endOf(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      signal.removeEventListener("abort", end);
      resolve();
    };
    signal.addEventListener("abort", end);
    void promise.then(end);
  });
}

// Like setTimeout, for times longer than its 24 days.
function setTimer(ms: number, action: () => void): { cancel(): void } {
  const ends = monotonicNow() + ms;
  let timer: NodeJS.Timeout;
  const plan = (): void => {
    const left = ends - monotonicNow();
    timer = setTimeout(left <= 0 ? action : plan, Math.min(Math.max(left, 0), 2 ** 31 - 1));
  };
  plan();
  return { cancel: () => clearTimeout(timer) };
}

function textOf(error: unknown): string {
  try {
    return wellFormed(String(error).slice(0, longestError));
  } catch {
    return "what was thrown cannot be shown";
  }
}

// Keeps the lease of one task while its handler works: extends it, and tells the server what the handler says.
//
// A lease that the server does not confirm in time is lost, whatever the reason: from then on somebody else may have the task.
import type { Handoff } from "./client.js";
import { backoff, monotonicNow, toDuration } from "./duration.js";
import { HandoffError, StaleLeaseError } from "./errors.js";
import type { Claimed, Progress } from "./model.js";

const mostLines = 1000; // The server keeps as many.
const releaseForMs = 5000;
const betweenProgressMs = 200; // A handler may say more; the last counts.

export class Lease {
  readonly #handoff: Handoff;
  readonly #claimed: Claimed;
  readonly #forMs: number;
  readonly #onLost: (why: HandoffError) => void;
  #until: number;
  #lastBeat = -Infinity;
  #failures = 0;
  #progress: Progress | undefined;
  #lines: string[] = [];
  #sendingLines: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isBeating = false;
  #isClosed = false;

  constructor(handoff: Handoff, claimed: Claimed, forMs: number, onLost: (why: HandoffError) => void) {
    this.#handoff = handoff;
    this.#claimed = claimed;
    this.#forMs = forMs;
    this.#onLost = onLost;
    this.#until = monotonicNow() + forMs;
    this.#beatIn(forMs / 3);
  }

  // On the monotonic clock; as far as is known here.
  get until(): number {
    return this.#until;
  }

  progress(progress: Progress): void {
    this.#progress = progress;
    if (!this.#isBeating) this.#beatIn(Math.max(0, this.#lastBeat + betweenProgressMs - monotonicNow()));
  }

  log(line: string): void {
    if (this.#isClosed) return;
    this.#lines.push(line);
    if (this.#lines.length > mostLines) this.#lines.shift();
    this.#sendingLines ??= this.#sendLines().finally(() => (this.#sendingLines = undefined));
  }

  // No more is extended. What was logged is still told.
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#sendingLines;
  }

  // What became of the task: said again until it is answered, or the lease has ended. Who gives it back is about to end, and cannot wait for long.
  async tell(verb: "done" | "fail" | "defer" | "release", body: Record<string, unknown> = {}): Promise<void> {
    const soon = monotonicNow() + this.#handoff.retryForMs;
    const ends = verb === "release" ? Math.min(soon, monotonicNow() + releaseForMs) : Math.max(this.#until, soon);
    let losses = 0;
    try {
      await this.#post(verb, body, () => ends, () => ++losses);
    } catch (error) {
      // It was heard the first time, and only the answer was lost: that ended the lease. "done" is answered each time.
      if (losses > 0 && verb !== "done" && error instanceof StaleLeaseError) return;
      throw error;
    }
  }

  async #post(verb: string, body: Record<string, unknown>, until: () => number, onLoss?: () => void): Promise<void> {
    const timeoutMs = Math.max(1000, this.#forMs / 3);
    const call = { body: { lease: this.#claimed.lease, ...body }, until, timeoutMs };
    await this.#handoff.call("POST", `/v1/tasks/${this.#claimed.id}/${verb}`, call, onLoss);
  }

  #beatIn(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#beat(), ms);
  }

  // Exactly one is under way or planned.
  async #beat(): Promise<void> {
    this.#isBeating = true;
    const began = (this.#lastBeat = monotonicNow());
    const progress = this.#progress;
    this.#progress = undefined;
    let next = this.#forMs / 3;
    try {
      await this.#post("extend", { for: toDuration(this.#forMs), ...(progress ? { progress } : {}) }, () => 0);
      this.#until = Math.max(this.#until, began + this.#forMs);
      this.#failures = 0;
      if (this.#progress) next = betweenProgressMs;
    } catch (error) {
      this.#progress ??= progress;
      if (isOver(error)) return this.#lose(error);
      // A progress that the server does not take must not cost the lease.
      if (error instanceof HandoffError && error.code === "bad_request") this.#progress = undefined;
      next = backoff(++this.#failures, this.#forMs / 6);
      if (monotonicNow() + next >= this.#until) return this.#lose(error);
    } finally {
      this.#isBeating = false;
    }
    this.#beatIn(next);
  }

  #lose(why: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onLost(why instanceof HandoffError && isOver(why) ? why : new StaleLeaseError("stale_lease", "the lease could not be extended in time", { cause: why }));
  }

  async #sendLines(): Promise<void> {
    for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift()) {
      try {
        await this.#post("log", { line }, () => this.#until);
      } catch (error) {
        if (isOver(error)) this.#lines = [];
      }
    }
  }
}

// The server has said that the task is not this worker's any more.
export function isOver(error: unknown): error is HandoffError {
  return error instanceof HandoffError && ["stale_lease", "cancelled", "not_found"].includes(error.code);
}

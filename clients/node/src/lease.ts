// Keeps the lease of one task while its handler works: extends it, and tells the server what the handler says.
//
// A lease that the server does not confirm in time is lost, whatever the reason: from then on somebody else may have the task. So lines wait, or are given up, rather than the lease.
import type { Handoff } from "./client.js";
import { backoff, monotonicNow, pause, toDuration } from "./duration.js";
import { errorOf, HandoffError, StaleLeaseError, type ErrorCode } from "./errors.js";
import type { Claimed, Progress } from "./model.js";

const mostLines = 1000; // The server keeps as many.
const mostBytes = 1 << 20; // Of lines in one request; the server takes 8 MiB.
const longestLine = 4096; // As the server cuts them.
const endsWithinMs = 5000; // Of a worker that ends, what is not the end of a task: lines, and giving back.
const betweenBeatsMs = 200; // A handler may say more: of its progress the last counts, and lines go together.

export class Lease {
  readonly #handoff: Handoff;
  readonly #claimed: Claimed;
  readonly #forMs: number;
  readonly #onLost: (why: HandoffError) => void;
  // open: the handler works. draining: it has ended, and its last lines are told. closed: nothing is told any more, or the lease is lost.
  #state: "open" | "draining" | "closed" = "open";
  #until: number;
  #drainsUntil = Infinity;
  #lastBeat = -Infinity;
  #failures = 0;
  #progress: Progress | undefined;
  #lines: string[] = [];
  #sending: string[] = []; // Lines on their way.
  #atOnce = mostBytes; // Fewer while that goes wrong.
  #refusedLines = 0;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;

  constructor(handoff: Handoff, claimed: Claimed, forMs: number, onLost: (why: HandoffError) => void) {
    this.#handoff = handoff;
    this.#claimed = claimed;
    this.#forMs = forMs;
    this.#onLost = onLost;
    this.#until = monotonicNow() + forMs;
    this.#beatIn(forMs / 3);
  }

  progress(progress: Progress): void {
    this.#progress = progress;
    this.#beatSoon();
  }

  log(line: string): void {
    if (this.#state !== "open") return;
    this.#lines.push(wellFormed(line.slice(0, longestLine)));
    if (this.#lines.length > mostLines) this.#lines.shift();
    this.#beatSoon();
  }

  // The worker ends, and waits no longer for lines to get through.
  hurry(): void {
    this.#drainsUntil = monotonicNow() + endsWithinMs;
  }

  // The handler says nothing more. What it has logged is still told, and the lease is kept meanwhile; but lines are given up before the lease is in danger. How many were.
  async close(): Promise<number> {
    if (this.#state === "open") this.#state = "draining";
    clearTimeout(this.#timer);
    if (this.#sending.length + this.#lines.length > 0) await this.#endOfBeat();
    while (this.#state === "draining" && this.#lines.length > 0 && this.#spareMs() > 0) {
      const next = await this.#beat(Math.max(1, Math.min(this.#spareMs(), this.#patienceMs())));
      if (this.#failures > 0) await pause(Math.min(next, Math.max(0, this.#spareMs())));
    }
    const isLost = this.#state === "closed"; // Who has lost the task has no say.
    this.#state = "closed";
    return isLost ? 0 : this.#refusedLines + this.#lines.length + this.#sending.length;
  }

  // What became of the task: said again until it is answered, or the lease has ended. Who gives it back is about to end, and cannot wait for long.
  async tell(verb: "done" | "fail" | "defer" | "release", body: Record<string, unknown> = {}): Promise<void> {
    const soon = monotonicNow() + this.#handoff.retryForMs;
    const ends = verb === "release" ? Math.min(soon, monotonicNow() + endsWithinMs) : Math.max(this.#until, soon);
    let losses = 0;
    try {
      await this.#post(verb, body, this.#patienceMs(), () => ends, () => ++losses);
    } catch (error) {
      // It was heard the first time, and only the answer was lost: that ended the lease. "done" is answered each time.
      if (losses > 0 && verb !== "done" && error instanceof StaleLeaseError) return;
      throw error;
    }
  }

  async #post(verb: string, body: Record<string, unknown>, timeoutMs: number, until: () => number, onLoss?: () => void): Promise<void> {
    const call = { body: { lease: this.#claimed.lease, ...body }, until, timeoutMs };
    await this.#handoff.call("POST", `/v1/tasks/${this.#claimed.id}/${verb}`, call, onLoss);
  }

  // Of one try.
  #patienceMs(): number {
    return Math.max(1000, this.#forMs / 3);
  }

  // How long there is for lines: the last third of the lease is for what became of the task.
  #spareMs(): number {
    return Math.min(this.#until - this.#forMs / 3, this.#drainsUntil) - monotonicNow();
  }

  #beatSoon(): void {
    if (!this.#beating && this.#failures === 0) this.#beatIn(Math.max(0, this.#lastBeat + betweenBeatsMs - monotonicNow()));
  }

  // Exactly one is under way or planned.
  #beatIn(ms: number): void {
    if (this.#state !== "open") return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat(this.#patienceMs()).then((next) => {
        this.#beating = undefined;
        this.#beatIn(next);
      });
    }, ms);
  }

  // Or of the time for it.
  async #endOfBeat(): Promise<void> {
    const over = new AbortController();
    await Promise.race([this.#beating, pause(Math.max(0, this.#spareMs()), over.signal)]);
    over.abort();
  }

  // In how many milliseconds the next one is due.
  async #beat(timeoutMs: number): Promise<number> {
    const began = (this.#lastBeat = monotonicNow());
    const progress = this.#progress;
    this.#progress = undefined;
    // If it was of no use with lines, then without: they can wait, the lease cannot.
    const isUrgent = this.#state === "open" && this.#failures > 0 && this.#until - began < this.#forMs / 2;
    const lines = (this.#sending = isUrgent ? [] : this.#nextLines());
    try {
      await this.#extend(progress, lines, timeoutMs);
      this.#until = Math.max(this.#until, began + this.#forMs);
      this.#failures = 0;
      this.#atOnce = Math.min(mostBytes, this.#atOnce * 2);
    } catch (error) {
      return this.#onFailure(error, progress, lines);
    } finally {
      this.#sending = [];
    }
    return this.#progress || this.#lines.length > 0 ? betweenBeatsMs : this.#forMs / 3;
  }

  // The lines go with it, in one request: all are kept, and the lease is extended, or neither.
  async #extend(progress: Progress | undefined, lines: string[], timeoutMs: number): Promise<void> {
    const extend = { for: toDuration(this.#forMs), ...(progress ? { progress } : {}) };
    if (lines.length === 0) return this.#post("extend", extend, timeoutMs, () => 0);
    const { id, lease } = this.#claimed;
    const call = { body: [{ id, lease, extend, log: lines }], retryFor: 0, timeoutMs };
    const answer = (await this.#handoff.call("POST", "/v1/outcomes", call).catch(ofTheRequest)) as { results: { error?: { code: ErrorCode; message: string } }[] };
    const refusal = answer.results[0]?.error;
    if (refusal) throw errorOf(refusal.code, refusal.message, { status: 409 });
  }

  #onFailure(error: unknown, progress: Progress | undefined, lines: string[]): number {
    if (isOver(error)) {
      this.#lose(error);
      return 0;
    }
    this.#progress ??= progress;
    this.#lines = [...lines, ...this.#lines].slice(-mostLines);
    this.#atOnce = Math.min(this.#atOnce, bytesOf(lines) / 2 || mostBytes);
    if (isRefused(error)) this.#giveWay(error, progress, lines);
    const next = backoff(++this.#failures, this.#forMs / 6);
    if (this.#state === "open" && monotonicNow() + next >= this.#until) this.#lose(error);
    return next;
  }

  // What the server does not take must not cost the lease.
  #giveWay(error: HandoffError, progress: Progress | undefined, lines: string[]): void {
    if (error.code === "too_large" && lines.length > 1) return; // Fewer at a time may do.
    if (progress) {
      if (this.#progress === progress) this.#progress = undefined;
      return;
    }
    this.#refusedLines += lines.length;
    this.#lines.splice(0, lines.length);
  }

  #nextLines(): string[] {
    let count = 0;
    for (let bytes = 0; count < this.#lines.length; ++count) {
      bytes += Buffer.byteLength(this.#lines[count]!);
      if (count > 0 && bytes > this.#atOnce) break;
    }
    return this.#lines.splice(0, count);
  }

  #lose(why: unknown): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#onLost(why instanceof HandoffError && isOver(why) ? why : new StaleLeaseError("stale_lease", "the lease could not be extended in time", { cause: why }));
  }
}

const bytesOf = (lines: string[]): number => lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);

// That there is no such route says nothing of the task.
function ofTheRequest(error: unknown): never {
  if (error instanceof HandoffError && error.code === "not_found") throw errorOf("bad_request", error.message, { status: error.status, cause: error });
  throw error;
}

const isRefused = (error: unknown): error is HandoffError =>
  error instanceof HandoffError && ["bad_request", "too_large", "method_not_allowed"].includes(error.code);

// Halves of characters are no UTF-8.
export const wellFormed = (text: string): string => Buffer.from(text, "utf8").toString("utf8");

// The server has said that the task is not this worker's any more.
export function isOver(error: unknown): error is HandoffError {
  return error instanceof HandoffError && ["stale_lease", "cancelled", "not_found"].includes(error.code);
}

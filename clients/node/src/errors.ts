// What can go wrong. Every refusal of the server is a HandoffError with the code, the message and the field that the server named.

export type ErrorCode =
  | "bad_request" | "unauthorized" | "forbidden" | "not_found" | "method_not_allowed" | "conflict" | "stale_lease" | "cancelled"
  | "too_large" | "unsupported_media_type" | "full" | "unavailable" | "internal"
  | "unreachable" // No answer: nobody listens, the connection broke, or it took too long.
  | "timed_out"; // wait() and result(): the task has not finished by then.

export interface ErrorDetails {
  status?: number;
  field?: string | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

export class HandoffError extends Error {
  readonly code: ErrorCode;
  /** Of HTTP; 0 if there was no answer. */
  readonly status: number;
  /** What of the request is wrong: "priority", "[17].queue". */
  readonly field: string | undefined;
  /** What the server asks for. */
  readonly retryAfterMs: number | undefined;
  /** enqueueMany(): the ids of those that were stored before this happened. */
  accepted: string[] | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.status = details.status ?? 0;
    this.field = details.field;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** The queue has no room, and had none for as long as was allowed. */
export class FullError extends HandoffError {}
/** No token, an unknown one, or one with another role. */
export class NotAllowedError extends HandoffError {}
/** The server cannot be reached, or cannot write now, and could not for as long as was allowed. */
export class UnavailableError extends HandoffError {}
/** The task is somebody else's by now. */
export class StaleLeaseError extends HandoffError {}
/** Somebody has cancelled the task. */
export class CancelledError extends HandoffError {}
/** wait() and result(): the time is up. The task goes on. */
export class WaitTimeoutError extends HandoffError {}

export function errorOf(code: ErrorCode, message: string, details: ErrorDetails): HandoffError {
  switch (code) {
    case "full": return new FullError(code, message, details);
    case "unauthorized":
    case "forbidden": return new NotAllowedError(code, message, details);
    case "unavailable":
    case "unreachable": return new UnavailableError(code, message, details);
    case "stale_lease": return new StaleLeaseError(code, message, details);
    case "cancelled": return new CancelledError(code, message, details);
    case "timed_out": return new WaitTimeoutError(code, message, details);
    default: return new HandoffError(code, message, details);
  }
}

/** Why the signal of an attempt is aborted, besides StaleLeaseError and CancelledError. */
export class TimedOutError extends Error {
  override name = "TimedOutError"; // The attempt takes longer than the task's timeout.
}
export class StoppingError extends Error {
  override name = "StoppingError"; // The worker ends, and its grace is over.
}

// -- What a handler may throw ---------------------------------------------------------------------

/** Not now: tried again after `later`. Costs no attempt. */
export class Defer extends Error {
  override name = "Defer";
  constructor(readonly later: string | number) {
    super(`deferred for ${later}`);
  }
}
/** Failed; tried again after `after`, if attempts are left. */
export class Retry extends Error {
  override name = "Retry";
  constructor(readonly after: string | number, message: string) {
    super(message);
  }
}
/** Failed for good: dead at once, whatever attempts are left. */
export class Fail extends Error {
  override name = "Fail";
}

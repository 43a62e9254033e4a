export { Handoff, TaskFailedError, type Call, type CallOptions, type HandoffOptions, type WaitOptions } from "./client.js";
export type { Duration } from "./duration.js";
export {
  CancelledError, Defer, Fail, FullError, HandoffError, NotAllowedError, Retry, StaleLeaseError, StoppingError, TimedOutError,
  UnavailableError, WaitTimeoutError, type ErrorCode,
} from "./errors.js";
export type {
  Enqueued, Explanation, LogLine, NewTask, NewWorkflow, Progress, StartedWorkflow, Task, TaskFilter, TaskPage, TaskState, Workflow,
} from "./model.js";
export { Worker, type Attempt, type Handler, type RunOptions, type WorkerOptions, type WorkerReport } from "./worker.js";

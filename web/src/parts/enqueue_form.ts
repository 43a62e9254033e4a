// What is typed into the form, as the server wants it.
import { RawJson } from "../api/raw";
import { parseDuration } from "./format";
import { checkJson } from "./json";

export type EnqueueForm = Record<
  "queue" | "kind" | "payload" | "delay" | "priority" | "max_attempts" | "timeout" | "unique_key" | "group",
  string
>;

type Errors = Partial<Record<keyof EnqueueForm, string>>;

export function enqueueErrors(form: EnqueueForm): Errors {
  const errors: Errors = {};
  const wrong = (name: keyof EnqueueForm, isWrong: boolean, message: string) => {
    if (isWrong) errors[name] ??= message;
  };
  wrong("queue", !/^[\w.-]{1,64}$/.test(form.queue.trim()), "1 to 64 letters, digits, dots, dashes or underscores");
  wrong("kind", !/^[\w./-]{1,128}$/.test(form.kind.trim()), "1 to 128 letters, digits, dots, dashes, underscores or slashes");
  wrong("payload", !checkJson(form.payload).ok, "must be JSON");
  for (const name of ["delay", "timeout"] as const) {
    const text = form[name].trim();
    wrong(name, text !== "" && parseDuration(text) === undefined, "must be a duration such as 250ms, 30s or 5m");
  }
  wrong("priority", !isWithin(form.priority, -100, 100), "must be a whole number from -100 to 100");
  wrong("max_attempts", !isWithin(form.max_attempts, 1, 1000), "must be a whole number from 1 to 1000");
  return errors;
}

function isWithin(text: string, least: number, most: number): boolean {
  if (text.trim() === "") return true;
  return /^-?\d+$/.test(text.trim()) && Number(text) >= least && Number(text) <= most;
}

// What is left empty is left out: the queue decides.
export function enqueueBody(form: EnqueueForm): Record<string, unknown> {
  const body: Record<string, unknown> = { queue: form.queue.trim(), kind: form.kind.trim() };
  const payload = checkJson(form.payload);
  if (payload.ok && payload.value !== null) body["payload"] = new RawJson(form.payload);
  for (const name of ["delay", "timeout"] as const) {
    const text = form[name].trim();
    if (text) body[name] = /^[\d.]+$/.test(text) ? Number(text) : text;
  }
  for (const name of ["priority", "max_attempts"] as const) if (form[name].trim()) body[name] = Number(form[name]);
  for (const name of ["unique_key", "group"] as const) if (form[name].trim()) body[name] = form[name].trim();
  return body;
}

// The settings of a queue as a form: what each field is called, what it may be, and what of it was changed.
import type { Settings } from "../api/types";
import { parseDuration } from "./format";

export interface SettingField {
  name: string;
  label: string;
  hint: string;
  check(text: string): string | undefined;
  toJson(text: string): unknown;
  options?: string[];
  isFor?: (form: Form) => boolean; // Otherwise it means nothing, and is not shown.
}

export type Form = Record<string, string>;

const wholeNumber = (least: number, most: number) => (text: string) => {
  if (!/^\d+$/.test(text.trim())) return "must be a whole number";
  const n = Number(text);
  return n < least || n > most ? `must be from ${least} to ${most}` : undefined;
};
const aDuration = (text: string) =>
  parseDuration(text) === undefined ? "must be a duration such as 250ms, 30s, 5m, 2h or 1d" : undefined;
const aRate = (text: string) =>
  /^\d+(\.\d+)?(\/[smh])?$/.test(text.trim()) ? undefined : "must be a rate such as 500/s, 30/m or 5/h; 0/s is no limit";

const number = (name: string, label: string, hint: string, least: number, most: number): SettingField => ({
  name, label, hint, check: wholeNumber(least, most), toJson: Number,
});
const time = (name: string, label: string, hint: string): SettingField => ({
  name, label, hint, check: aDuration, toJson: durationJson,
});
const aFraction = (text: string) => (/^(0(\.\d+)?|1(\.0+)?)?$/.test(text.trim()) ? undefined : "must be from 0 to 1");
const aFactor = (text: string) => (text.trim() === "" || Number(text) >= 1 ? undefined : "must be a number, at least 1");
const orNothing = (check: SettingField["check"]): SettingField["check"] => (text) => (text.trim() === "" ? undefined : check(text));
const backoff = (name: string, label: string, hint: string, kinds: string[], check: SettingField["check"], toJson: SettingField["toJson"]): SettingField => ({
  name: `backoff.${name}`, label, hint, check: orNothing(check), toJson, isFor: (form) => kinds.includes(form["backoff.kind"] ?? ""),
});
const durationJson = (text: string): unknown => (/^[\d.]+$/.test(text.trim()) ? Number(text) : text.trim());

export const settingGroups: { title: string; fields: SettingField[] }[] = [
  {
    title: "When there is too much",
    fields: [
      number("capacity", "Capacity", "Unfinished tasks it holds", 1, 1e12),
      number("capacity_bytes", "Capacity in bytes", "Of their payloads", 1, 1e15),
      {
        name: "when_full", label: "When full", hint: "What an enqueue is told", check: () => undefined,
        toJson: (text) => text, options: ["reject", "drop_newest", "block"],
      },
      time("block_for", "Block for", "How long an enqueue waits, with block"),
      time("burst_for", "Burst for", "The spike that the advice is made for"),
    ],
  },
  {
    title: "How fast it goes",
    fields: [
      {
        name: "rate", label: "Rate limit", hint: "Tasks that begin; 0/s is no limit", check: aRate,
        toJson: (text) => (text.includes("/") ? text.trim() : Number(text)),
      },
      number("burst", "Burst", "So many at once after a pause", 1, 1e9),
      number("concurrency", "Concurrency", "Running at a time; 0 is no limit", 0, 1e6),
      number("group_concurrency", "Per group", "The same for each group; 0 is no limit", 0, 1e6),
      time("ageing", "Ageing", "After so long, before any priority"),
    ],
  },
  {
    title: "Attempts and keeping",
    fields: [
      number("max_attempts", "Attempts", "Then it is dead", 1, 1000),
      {
        name: "backoff.kind", label: "Backoff", hint: "How long until the next attempt", check: () => undefined,
        toJson: (text) => text, options: ["sidekiq", "exponential", "fixed"],
      },
      backoff("base", "First delay", "Then more each time", ["exponential"], aDuration, durationJson),
      backoff("factor", "Factor", "So many times the delay before", ["exponential"], aFactor, Number),
      backoff("max", "Longest delay", "It grows no further", ["exponential"], aDuration, durationJson),
      backoff("delay", "Delay", "The same each time", ["fixed"], aDuration, durationJson),
      backoff("jitter", "Jitter", "So much of it by chance, 0 to 1", ["exponential", "fixed"], aFraction, Number),
      time("lease_for", "Lease", "A worker that is silent for so long has lost it"),
      time("keep_done", "Keep done", "Then they are forgotten"),
      time("keep_dead", "Keep dead", "Cancelled ones too"),
      number("keep_count", "Keep at most", "Finished tasks, whatever their age", 0, 1e12),
    ],
  },
];

export const settingFields = settingGroups.flatMap((each) => each.fields);

export function formOf(settings: Settings): Form {
  const values: Record<string, unknown> = { ...settings };
  for (const [name, value] of Object.entries(settings.backoff)) values[`backoff.${name}`] = value;
  return Object.fromEntries(settingFields.map(({ name }) => [name, String(values[name] ?? "")]));
}

export const isShown = (field: SettingField, form: Form): boolean => field.isFor?.(form) ?? true;

export function formErrors(form: Form): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const each of settingFields) {
    const error = isShown(each, form) ? each.check(form[each.name] ?? "") : undefined;
    if (error) errors[each.name] = error;
  }
  return errors;
}

// Only what was changed is sent: what others set meanwhile stays. A backoff is one thing, and sent whole.
export function changes(before: Form, after: Form): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  const retries: Record<string, unknown> = {};
  let hasNewBackoff = false;
  for (const each of settingFields) {
    const text = after[each.name] ?? "";
    const isNew = text !== before[each.name] && isShown(each, after);
    if (each.name.startsWith("backoff.")) {
      if (isShown(each, after) && text.trim()) retries[each.name.slice("backoff.".length)] = each.toJson(text);
      hasNewBackoff ||= isNew;
    } else if (isNew) {
      changed[each.name] = each.toJson(text);
    }
  }
  return hasNewBackoff ? { ...changed, backoff: retries } : changed;
}

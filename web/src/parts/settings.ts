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
}

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
      time("lease_for", "Lease", "A worker that is silent for so long has lost it"),
      time("keep_done", "Keep done", "Then they are forgotten"),
      time("keep_dead", "Keep dead", "Cancelled ones too"),
      number("keep_count", "Keep at most", "Finished tasks, whatever their age", 0, 1e12),
    ],
  },
];

export const settingFields = settingGroups.flatMap((each) => each.fields);

export type Form = Record<string, string>;

export function formOf(settings: Settings): Form {
  const values = settings as unknown as Record<string, unknown>;
  return Object.fromEntries(settingFields.map(({ name }) => [name, String(values[name] ?? "")]));
}

export function formErrors(form: Form): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const each of settingFields) {
    const error = each.check(form[each.name] ?? "");
    if (error) errors[each.name] = error;
  }
  return errors;
}

// Only what was changed is sent: what others set meanwhile stays.
export function changes(before: Form, after: Form): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const each of settingFields) {
    const text = after[each.name] ?? "";
    if (text !== before[each.name]) changed[each.name] = each.toJson(text);
  }
  return changed;
}

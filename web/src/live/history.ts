// The last minutes, second by second: asked for once, then kept up to date with a few seconds at a time.
import { type State, states } from "../api/types";

export interface HistoryPart {
  from: string;
  step: string;
  in: number[];
  done: number[];
  failed: number[];
  rejected: number[];
  depth: number[];
  wait_ms_p50: (number | null)[];
  wait_ms_p99: (number | null)[];
  states: Record<State, number[]>;
}

export interface History {
  times: number[]; // Seconds since 1970.
  in: number[];
  done: number[];
  failed: number[];
  rejected: number[];
  depth: number[];
  wait_ms_p50: (number | null)[];
  wait_ms_p99: (number | null)[];
  states: Record<State, number[]>;
}

type Column = (number | null)[];
const columns = ["in", "done", "failed", "rejected", "depth", "wait_ms_p50", "wait_ms_p99"] as const;

export const emptyHistory = (): History => ({
  times: [],
  ...(Object.fromEntries(columns.map((name) => [name, []])) as unknown as Omit<History, "times" | "states">),
  states: Object.fromEntries(states.map((state) => [state, []])) as unknown as Record<State, number[]>,
});

// What both have is as the newer says; of all that, the last `most` seconds.
export function merged(before: History, part: HistoryPart, most: number): History {
  const from = Math.floor(Date.parse(part.from) / 1000);
  const times = part.in.map((_, i) => from + i);
  const kept = before.times.filter((each) => each < from).length;
  const isApart = kept > 0 && times.length > 0 && from - (before.times[kept - 1] ?? 0) > 2; // The server was started anew.
  const gap = isApart ? [(before.times[kept - 1] ?? 0) + 1] : [];
  const join = (old: Column, fresh: Column): Column =>
    [...old.slice(0, kept), ...gap.map(() => null), ...fresh].slice(-most);
  const next = emptyHistory();
  next.times = [...before.times.slice(0, kept), ...gap, ...times].slice(-most);
  for (const name of columns) next[name] = join(before[name], part[name]) as number[];
  for (const state of states) next.states[state] = join(before.states[state], part.states[state]) as number[];
  return next;
}

// How far back to ask, so that nothing is missed.
export function spanNeeded(history: History, now: number, most: number): number {
  const last = history.times.at(-1);
  if (last === undefined) return most;
  return Math.min(most, Math.max(3, Math.ceil(now / 1000 - last) + 2));
}

// It goes on where the other ends, or before.
export function continues(history: History, part: HistoryPart | undefined): boolean {
  const last = history.times.at(-1);
  return part !== undefined && last !== undefined && Math.floor(Date.parse(part.from) / 1000) <= last + 1;
}

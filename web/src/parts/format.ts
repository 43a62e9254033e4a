// Numbers, durations and times, as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const count = (n: number): string => whole.format(n);

// 12,300,000 is "12.3M" where there is little room.
export function short(n: number): string {
  const size = Math.abs(n);
  if (size < 10_000) return whole.format(n);
  for (const [limit, letter] of [[1e6, "k"], [1e9, "M"], [1e12, "G"]] as const) {
    if (size < limit * 0.9995) return `${trim((n / limit) * 1000, 3)}${letter}`;
  }
  return `${trim(n / 1e12, 3)}T`;
}

export function rate(perSecond: number): string {
  if (perSecond === 0) return "0/s";
  if (perSecond < 0.1) return `${trim(perSecond * 60, 2)}/min`;
  return `${perSecond < 100 ? trim(perSecond, 2) : short(perSecond)}/s`;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  const power = Math.min(4, Math.floor(Math.log2(n) / 10));
  return `${trim(n / 1024 ** power, 3)} ${["", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

// "250ms", "30s", "5m", "2h", "1d", or a number of seconds; nothing if it is none of them.
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim());
  if (!match) return undefined;
  return Number(match[1]) * units[(match[2] ?? "s") as keyof typeof units];
}

// The two largest parts: "3h 12m", "4.2s", "310ms".
export function duration(ms: number): string {
  if (ms < 0) return "0s";
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 10_000) return `${trim(ms / 1000, 2)}s`;
  const seconds = Math.round(ms / 1000);
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([n]) => n > 0);
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n}${unit}`)
    .join(" ");
}

export function durationText(text: string | undefined): string {
  const ms = text === undefined ? undefined : parseDuration(text);
  return ms === undefined ? (text ?? "–") : duration(ms);
}

export function ago(ms: number): string {
  return ms < 1000 ? "just now" : `${age(ms)} ago`;
}

// One part is enough for what changes every second.
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

export const percent = (fraction: number): string => `${Math.round(Math.min(1, Math.max(0, fraction)) * 100)}%`;

export const shortId = (id: string): string => (id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id);

export const plural = (n: number, word: string): string => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

// As a clock on the wall of the reader shows it: "14:03:07.250".
export function clockTime(at: string): string {
  const time = new Date(at);
  const parts = [time.getHours(), time.getMinutes(), time.getSeconds()].map((each) => String(each).padStart(2, "0"));
  return `${parts.join(":")}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

// Of what may be many pages long, such as an error.
export const beginning = (text: string, most = 300): string => (text.length > most ? `${text.slice(0, most)}…` : text);

const trim = (n: number, digits: number): string => String(Number(n.toPrecision(digits)));

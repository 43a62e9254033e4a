// Durations as the server reads and writes them: "250ms", "30s", "5m", "2h", "1d", or a number of seconds.
export type Duration = string | number;

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function toMillis(duration: Duration): number {
  if (typeof duration === "number") {
    if (duration >= 0) return duration * 1000;
  } else if (/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(duration)) {
    let sum = 0;
    for (const [, number, unit] of duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) sum += Number(number) * units[unit!]!;
    return sum;
  }
  throw new TypeError(`a duration is like "250ms", "30s" or "5m", or a number of seconds, got ${JSON.stringify(duration)}`);
}

export const toDuration = (ms: number): string => `${Math.max(0, Math.round(ms))}ms`;

export const monotonicNow = (): number => performance.now();

// Resolves after the time, or as soon as a signal is aborted; never rejects.
export function pause(ms: number, ...signals: (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    for (const signal of signals) {
      if (signal?.aborted) return end();
      signal?.addEventListener("abort", end);
    }
  });
}

// How long to wait before try `number` (from 1): doubled each time, half of it by chance, so that many clients do not come back together.
export function backoff(number: number, longest = 5000): number {
  const most = Math.min(longest, 100 * 2 ** Math.min(number - 1, 16));
  return most / 2 + (Math.random() * most) / 2;
}

// A value that tells when it changes.
import { useEffect, useState } from "preact/hooks";

export class Signal<T> {
  private readonly listeners = new Set<() => void>();
  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }
  set(next: T): void {
    if (Object.is(next, this.current)) return;
    this.current = next;
    for (const each of [...this.listeners]) each();
  }
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export function useSignal<T>(signal: Signal<T>): T {
  const [, redraw] = useState(0);
  useEffect(() => {
    redraw((n) => n + 1); // It may have changed between drawing and listening.
    return signal.subscribe(() => redraw((n) => n + 1));
  }, [signal]);
  return signal.value;
}

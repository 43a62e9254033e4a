// The stream of events: one at a time, opened anew when it is cut, and honest about it.
//
//   connecting -> open -> cut -> connecting ...      stop() from anywhere
//
// fetch() rather than EventSource, which cannot send a token.
import { EventParser, type ServerEvent } from "./sse";

export type StreamState = { is: "connecting" } | { is: "open" } | { is: "cut"; retryAt: number; tries: number };

export interface StreamParts {
  connect(lastId: string | undefined, signal: AbortSignal): Promise<Response>;
  onEvent(event: ServerEvent): void;
  onState(state: StreamState): void;
  silence?: number; // So long without a word, and it counts as cut: the server speaks once a second.
}

export const delayBefore = (tries: number, random = Math.random()): number =>
  Math.min(15_000, 500 * 2 ** Math.min(tries, 6)) * (0.75 + random / 2);

export class EventStream {
  private lastId: string | undefined;
  private tries = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private attempt: AbortController | undefined;
  private isStopped = false;

  constructor(private readonly parts: StreamParts) {}

  start(): void {
    clearTimeout(this.timer);
    this.attempt?.abort();
    if (this.isStopped) return;
    this.parts.onState({ is: "connecting" });
    void this.run();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.attempt?.abort();
  }

  private async run(): Promise<void> {
    const attempt = new AbortController();
    this.attempt = attempt;
    try {
      const answer = await this.parts.connect(this.lastId, attempt.signal);
      if (attempt.signal.aborted) return;
      if (answer.status === 401) return this.stop(); // Whoever asks for a token starts a new one.
      if (!answer.ok || !answer.body) throw new Error(`status ${answer.status}`);
      await this.read(answer.body, attempt);
    } catch {
      // A stream that ends and one that never began are the same to the reader.
    }
    if (this.attempt === attempt && !this.isStopped) this.cut();
  }

  private async read(body: ReadableStream<Uint8Array>, attempt: AbortController): Promise<void> {
    const parser = new EventParser((event) => {
      if (event.id !== undefined) this.lastId = event.id;
      this.parts.onEvent(event);
    });
    const decoder = new TextDecoder();
    const reader = body.getReader();
    let watchdog = this.watch(reader);
    this.parts.onState({ is: "open" });
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || attempt.signal.aborted) return;
        this.tries = 0;
        clearTimeout(watchdog);
        watchdog = this.watch(reader);
        parser.feed(decoder.decode(value, { stream: true }));
      }
    } finally {
      clearTimeout(watchdog);
    }
  }

  private watch(reader: ReadableStreamDefaultReader<Uint8Array>): ReturnType<typeof setTimeout> {
    return setTimeout(() => void reader.cancel(), this.parts.silence ?? 20_000);
  }

  private cut(): void {
    const delay = delayBefore(this.tries);
    this.tries += 1;
    this.parts.onState({ is: "cut", retryAt: Date.now() + delay, tries: this.tries });
    this.timer = setTimeout(() => this.start(), delay);
  }
}

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
  silence?: number; // So many seconds without a word, and it counts as cut: the server speaks once a second.
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

  // Gives its connection back until start(): a browser has six for a server, and all tabs share them.
  rest(): void {
    clearTimeout(this.timer);
    this.attempt?.abort();
    this.attempt = undefined;
  }

  stop(): void {
    this.isStopped = true;
    this.rest();
  }

  private async run(): Promise<void> {
    const attempt = new AbortController();
    this.attempt = attempt;
    const { silence = 5 } = this.parts;
    const patience = () => silence * Math.min(this.tries + 1, 4); // Who is far away, or has much to do, gets more time.
    const watchdog = new Watchdog(patience(), () => attempt.abort());
    try {
      const answer = await this.parts.connect(this.lastId, attempt.signal);
      if (attempt.signal.aborted) throw new Error("too late");
      if (answer.status === 401) return this.stop(); // Whoever asks for a token starts a new one.
      if (!answer.ok || !answer.body) throw new Error(`status ${answer.status}`);
      watchdog.heard(patience());
      this.parts.onState({ is: "open" });
      await this.read(answer.body, attempt.signal, () => watchdog.heard(patience()));
    } catch {
      // A stream that ends and one that never began are the same to the reader.
    } finally {
      watchdog.stop();
    }
    if (this.attempt === attempt && !this.isStopped) this.cut();
  }

  private async read(body: ReadableStream<Uint8Array>, signal: AbortSignal, heard: () => void): Promise<void> {
    const parser = new EventParser((event) => {
      this.tries = 0;
      if (event.id !== undefined) this.lastId = event.id;
      this.parts.onEvent(event);
    });
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || signal.aborted) return;
      parser.feed(decoder.decode(value, { stream: true }));
      heard();
    }
  }

  private cut(): void {
    const delay = delayBefore(this.tries);
    this.tries += 1;
    this.parts.onState({ is: "cut", retryAt: Date.now() + delay, tries: this.tries });
    this.timer = setTimeout(() => this.start(), delay);
  }
}

// Counts the seconds without a word. Those that a tab or a computer has slept are not counted: nothing was heard in
// them, but what was said is there to be read.
class Watchdog {
  private quiet = 0;
  private readonly timer = setInterval(() => {
    if (++this.quiet >= this.patience) this.bark();
  }, 1000);

  constructor(
    private patience: number,
    private readonly bark: () => void,
  ) {}

  heard(patience: number): void {
    this.quiet = 0;
    this.patience = patience;
  }
  stop(): void {
    clearInterval(this.timer);
  }
}

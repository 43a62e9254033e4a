import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { delayBefore, EventStream, type StreamState } from "./stream";

// A server of one connection at a time, which says what it is told to say.
class Wire {
  asked: (string | undefined)[] = [];
  states: StreamState["is"][] = [];
  data: string[] = [];
  status = 200;
  hangs = false;
  private writer: ReadableStreamDefaultController<Uint8Array> | undefined;
  stream = new EventStream({
    connect: (lastId, signal) => {
      this.asked.push(lastId);
      if (this.status === 0) return Promise.reject(new Error("refused"));
      if (this.hangs) return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
      const body = new ReadableStream<Uint8Array>({
        start: (writer) => {
          this.writer = writer;
          signal.addEventListener("abort", () => writer.error(new Error("aborted")));
        },
      });
      return Promise.resolve(new Response(this.status === 200 ? body : null, { status: this.status }));
    },
    onEvent: (event) => this.data.push(event.data),
    onState: (state) => this.states.push(state.is),
  });
  say(text: string): void {
    this.writer?.enqueue(new TextEncoder().encode(text));
  }
  end(): void {
    this.writer?.close();
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
const settle = () => vi.advanceTimersByTimeAsync(0);

describe("EventStream", () => {
  it("goes on where it was when it is cut", async () => {
    const wire = new Wire();
    wire.stream.start();
    await settle();
    wire.say("id: log-7\ndata: one\n\n");
    await settle();
    wire.end();
    await settle();
    expect(wire.states).toEqual(["connecting", "open", "cut"]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(wire.states).toEqual(["connecting", "open", "cut", "connecting", "open"]);
    expect(wire.asked).toEqual([undefined, "log-7"]);
    wire.say("data: two\n\n");
    await settle();
    expect(wire.data).toEqual(["one", "two"]);
    wire.stream.stop();
  });
  it("tries again, and again, when nobody answers", async () => {
    const wire = new Wire();
    wire.status = 0;
    wire.stream.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(wire.asked.length).toBeGreaterThan(4);
    expect(wire.states.includes("open")).toBe(false);
    wire.status = 200;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(wire.states).toContain("open");
    wire.stream.stop();
  });
  it("counts silence as cut", async () => {
    const wire = new Wire();
    wire.stream.start();
    await vi.advanceTimersByTimeAsync(4_500);
    expect(wire.states).toEqual(["connecting", "open"]);
    wire.say(": still here\n\n");
    await vi.advanceTimersByTimeAsync(4_400);
    expect(wire.states).toEqual(["connecting", "open"]);
    await vi.advanceTimersByTimeAsync(1_600);
    expect(wire.states).toContain("cut");
    wire.stream.stop();
  });
  it("counts a server that takes the connection and says nothing as cut, and is patient with one that is far away", async () => {
    const wire = new Wire();
    wire.hangs = true;
    wire.stream.start();
    await vi.advanceTimersByTimeAsync(5_100);
    expect(wire.states).toEqual(["connecting", "cut"]);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(wire.states).toEqual(["connecting", "cut", "connecting"]);
    wire.hangs = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(wire.states.at(-1)).toBe("open");
    wire.stream.stop();
  });
  it("is more patient each time with one that answers and then says nothing of use", async () => {
    const wire = new Wire();
    wire.stream.start();
    await settle();
    wire.say("retry: 1000\n\n");
    await vi.advanceTimersByTimeAsync(6_500);
    expect(wire.states).toEqual(["connecting", "open", "cut", "connecting", "open"]);
    wire.say("retry: 1000\n\n");
    await vi.advanceTimersByTimeAsync(8_000);
    expect(wire.states.at(-1)).toBe("open");
    await vi.advanceTimersByTimeAsync(2_500);
    expect(wire.states.filter((is) => is === "cut").length).toBe(2);
    wire.stream.stop();
  });
  it("rests without a connection, and goes on where it was", async () => {
    const wire = new Wire();
    wire.stream.start();
    await settle();
    wire.say("id: log-7\ndata: one\n\n");
    await settle();
    wire.stream.rest();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(wire.states).toEqual(["connecting", "open"]);
    expect(wire.asked.length).toBe(1);
    wire.stream.start();
    await settle();
    expect(wire.asked).toEqual([undefined, "log-7"]);
    expect(wire.states).toEqual(["connecting", "open", "connecting", "open"]);
    wire.stream.stop();
  });
  it("asks nobody again once a token is needed", async () => {
    const wire = new Wire();
    wire.status = 401;
    wire.stream.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(wire.asked.length).toBe(1);
  });
  it("says nothing after it was stopped", async () => {
    const wire = new Wire();
    wire.stream.start();
    await settle();
    wire.stream.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(wire.states).toEqual(["connecting", "open"]);
    expect(wire.asked.length).toBe(1);
  });
  it("waits longer each time, but not for ever", () => {
    const delays = [0, 1, 2, 3, 10].map((tries) => delayBefore(tries, 0.5));
    expect(delays).toEqual([500, 1000, 2000, 4000, 15_000]);
  });
});

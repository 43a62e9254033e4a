import { describe, expect, it } from "vitest";
import { EventParser, type ServerEvent } from "./sse";

function read(...pieces: string[]): ServerEvent[] {
  const events: ServerEvent[] = [];
  const parser = new EventParser((event) => events.push(event));
  for (const each of pieces) parser.feed(each);
  return events;
}

const text = 'retry: 1000\n\nid: a-1\nevent: task\ndata: {"id":"x"}\n\n: still here\n\nevent: gap\ndata: {"missed":null}\n\n';
const whole = [
  { id: "a-1", type: "task", data: '{"id":"x"}' },
  { id: "a-1", type: "gap", data: '{"missed":null}' },
];

describe("EventParser", () => {
  it("reads events, and leaves out comments and fields of no interest", () => expect(read(text)).toEqual(whole));
  it("reads the same in pieces of any size", () => {
    for (let size = 1; size < text.length; size++) {
      const pieces = [];
      for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
      expect(read(...pieces), `pieces of ${size}`).toEqual(whole);
    }
  });
  it("takes any line end, also one that is cut in two", () => {
    expect(read("data: a\r", "\n\r", "\ndata: b\r\r")).toEqual([
      { id: undefined, type: "message", data: "a" },
      { id: undefined, type: "message", data: "b" },
    ]);
  });
  it("joins lines of data", () => expect(read("data: a\ndata:b\n\n")[0]?.data).toBe("a\nb"));
  it("says nothing of an event that has no data", () => expect(read("event: task\n\ndata: x\n\n")).toEqual([{ id: undefined, type: "message", data: "x" }]));
  it("says nothing of an event that is not over", () => expect(read("data: x\n")).toEqual([]));
});

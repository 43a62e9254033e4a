import { describe, expect, it } from "vitest";
import { toLiveEvent } from "./live";

const event = (type: string, data: string) => toLiveEvent({ id: undefined, type, data });

describe("what pages hear", () => {
  it("is the task that has changed", () => {
    expect(event("task", '{"id":"x","queue":"q","state":"done","at":"..."}')).toEqual({ type: "task", id: "x", queue: "q", state: "done" });
  });
  it("is that something was missed, also if it could not be read", () => {
    expect([event("gap", '{"missed":null}'), event("stats", "{")]).toEqual([{ type: "gap" }, { type: "gap" }]);
  });
  it("is nothing of events that this version does not know", () => expect(event("news", "{}")).toBe(undefined));
});

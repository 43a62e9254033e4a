import { describe, expect, it } from "vitest";
import { opened, toLiveEvent } from "./live";

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

describe("opening the stream", () => {
  const open = async (...statuses: number[]) => {
    const asked: string[] = [];
    const answer = await opened("/v1/events?workflow=w", (url) => {
      asked.push(url);
      return Promise.resolve(new Response(null, { status: statuses[asked.length - 1] ?? 500 }));
    });
    return { status: answer.status, asked };
  };
  it("asks how it is going if nothing can be told of what the page shows", async () => {
    for (const refused of [400, 404]) {
      const { status, asked } = await open(refused, 200);
      expect(status).toBe(200);
      expect(asked.length).toBe(2);
      expect(asked[1]).not.toContain("workflow");
    }
  });
  it("asks once where that is no refusal, and no more than twice", async () => {
    expect((await open(200)).asked.length).toBe(1);
    expect((await open(503)).asked.length).toBe(1);
    expect(await open(404, 404)).toMatchObject({ status: 404, asked: { length: 2 } });
  });
});

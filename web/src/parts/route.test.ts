import { expect, it } from "vitest";
import { href, parseRoute } from "./route";

it("an address is read as it was written", () => {
  for (const [path, query] of [[["tasks"], { state: "dead", error: "a & b = c?" }], [["queues", "a/b%"], {}], [[], {}]] as const) {
    expect(parseRoute(href([...path], query))).toEqual({ path: [...path], query });
  }
});

it("an address that is no good is taken as it is", () => {
  expect(parseRoute("#/tasks/%E0%A4%A")).toEqual({ path: ["tasks", "%E0%A4%A"], query: {} });
  expect(parseRoute("")).toEqual({ path: [], query: {} });
});

it("what is empty is not in the address", () => expect(href(["tasks"], { queue: "", kind: undefined })).toBe("#/tasks"));

import { expect, it } from "vitest";
import type { DeadGroup } from "../api/types";
import { deadNote, placeOf } from "./dead";

const group: DeadGroup = { queue: "mail", kind: "welcome", reason: "no such mailbox", count: 2, latest: "2026-11-18T12:00:00Z", example: "a1" };

it("a thousand groups are said to be the largest, not all", () => {
  expect(deadNote(0, 0)).toBe(undefined);
  expect(deadNote(999, 1500)).toBe("1,500 tasks");
  expect(deadNote(1000, 56_789)).toBe("56,789 tasks; the 1,000 largest groups");
  expect(deadNote(1000, undefined)).toBe("the 1,000 largest groups");
});

it("a group leads to its tasks, and to one of them if its reason does not fit into an address", () => {
  expect(placeOf(group)).toBe("#/tasks?queue=mail&kind=welcome&state=dead&error=no+such+mailbox");
  expect(placeOf({ ...group, reason: "ü".repeat(2000) })).toBe("#/tasks/a1");
  expect(placeOf({ ...group, reason: "" })).toBe("#/tasks/a1");
});

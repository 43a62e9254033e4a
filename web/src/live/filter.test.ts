import { expect, it } from "vitest";
import { parseRoute } from "../parts/route";
import { filterOf, noTasks } from "./filter";

const id = "01a1e8d0-9b61-7000-9072-e55e3f0443e8";
const of = (hash: string) => filterOf(parseRoute(hash));

it("a page hears of what it shows", () => {
  expect(of("#/")).toEqual(noTasks);
  expect(of("#/tasks")).toEqual({});
  expect(of("#/tasks?queue=email")).toEqual({ queue: "email" });
  expect(of("#/queues/a.b-c_9")).toEqual({ queue: "a.b-c_9", ...noTasks });
  expect(of(`#/tasks/${id}`)).toEqual({ task: id });
  expect(of(`#/workflows/${id}`)).toEqual({ workflow: id });
});

it("what is no name of a queue and no id is not asked for", () => {
  const wrong = ["#/tasks?queue=my+queue", `#/tasks?queue=${"q".repeat(65)}`, "#/tasks/nonsense", `#/tasks/${id}0`, "#/workflows/nonsense", "#/queues/a%20b"];
  expect(wrong.map(of)).toEqual(wrong.map(() => noTasks));
});

// Workflows, schedules and workers.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { openPage, see, seeGone, startServer } from "./support.mjs";

let server;
before(async () => (server = await startServer()));

test("the graph of a workflow moves with its steps", async () => {
  const step = (name, after, queue) => ({ name, after, task: { queue, kind: name, max_attempts: 1 } });
  const { id } = await server.ok("POST", "/v1/workflows", {
    name: "checkout-17", steps: [step("charge", [], "w1"), step("receipt", ["charge"], "w2"), step("ship", ["charge"], "w3")],
  });
  const page = await openPage(server, "#/workflows");
  await page.getByRole("link", { name: "checkout-17" }).click();
  const graph = page.getByRole("region", { name: "Graph of the workflow" });
  await see(graph.getByRole("link", { name: "charge: ready" }));
  await see(graph.getByRole("link", { name: "receipt: waiting" }));
  const [charge] = await server.claim("w1");
  await see(graph.getByRole("link", { name: "charge: running" }));
  await charge.done({ paid: true });
  await see(graph.getByRole("link", { name: "receipt: ready" }));
  await (await server.claim("w2"))[0].done(null);
  await (await server.claim("w3"))[0].fail("no address");
  await see(graph.getByRole("link", { name: "ship: dead" }));
  await page.getByRole("button", { name: "Retry failed steps" }).click();
  await see(graph.getByRole("link", { name: "ship: ready" }));
  await graph.getByRole("link", { name: "ship: ready" }).click();
  await see(page.getByRole("heading", { name: "ship", level: 1 }));
});

test("a schedule is paused, goes on, and is deleted after a question", async () => {
  await server.ok("PUT", "/v1/schedules/nightly", { cron: "0 3 * * *", timezone: "UTC", task: { queue: "report", kind: "sales" } });
  const page = await openPage(server, "#/schedules");
  await see(page.getByText("0 3 * * * UTC"));
  await see(page.getByText(/^in \d+/));
  await page.getByRole("button", { name: "Pause nightly" }).click();
  await page.getByRole("button", { name: "Resume nightly" }).click();
  await see(page.getByRole("button", { name: "Pause nightly" }));
  await page.getByRole("button", { name: "Delete nightly…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the schedule" }).click();
  await see(page.getByText("No schedules yet."));
  assert.deepEqual((await server.ok("GET", "/v1/schedules")).schedules, []);
});

test("workers are there from their first claim, with what each runs", async () => {
  const page = await openPage(server, "#/workers");
  await server.enqueue({ queue: "jobs", kind: "long" });
  const [task] = await server.claim("jobs");
  const row = page.getByRole("row").filter({ hasText: "test/1" });
  await see(row.getByRole("link", { name: "long" }));
  await task.done(null);
  await seeGone(row.getByRole("link", { name: "long" }));
});

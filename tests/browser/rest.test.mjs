// Workflows, schedules and workers.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { openContext, openPage, see, seeGone, startServer } from "./support.mjs";

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

test("of a thousand groups of dead letters some are shown, then more, and all that are dead are counted", async () => {
  const all = Array.from({ length: 1000 }, (_, i) => ({ queue: "mail", kind: "k", reason: `reason ${i}`, count: 2, latest: "2026-11-18T12:00:00Z", example: "e" }));
  const context = await openContext();
  await context.route("**/v1/dead", (route) => route.fulfill({ json: { dead: all } })); // As a server does that has more.
  await context.route("**/v1/totals", (route) => route.fulfill({ json: { counts: { dead: 4321 } } }));
  const page = await openPage(server, "#/dead", {}, context);
  await see(page.getByText("4,321 tasks; the 1,000 largest groups"));
  const rows = page.locator("tbody tr");
  assert.equal(await rows.count(), 100);
  await page.getByRole("button", { name: "Show more" }).click();
  await see(page.getByText("reason 199"));
  assert.equal(await rows.count(), 200);
});

test("dead letters with the longest reason lead to one of them, and are replayed", async () => {
  const { id } = await server.enqueue({ queue: "long", kind: "k", max_attempts: 1 });
  const [task] = await server.claim("long");
  await task.fail("no room at all. ".repeat(1000));
  const page = await openPage(server, "#/dead?queue=long");
  await page.getByRole("link", { name: "no room at all." }).click();
  await see(page.getByText(id, { exact: true }));
  await page.goBack();
  await page.getByRole("button", { name: /Replay k/ }).click();
  await page.getByRole("button", { name: "Retry 1 task" }).click();
  await see(page.getByText("Retried 1 task."));
});

test("dead letters without a reason are not replayed together with all others of their kind", async () => {
  const group = (reason) => ({ queue: "mail", kind: "k", reason, count: 2, latest: "2026-11-18T12:00:00Z", example: "e" });
  const context = await openContext();
  await context.route("**/v1/dead", (route) => route.fulfill({ json: { dead: [group(""), group("with one")] } }));
  const page = await openPage(server, "#/dead", {}, context);
  await see(page.getByText("no reason was given"));
  const [without, other] = await page.getByRole("button", { name: /Replay k/ }).all();
  assert.ok(await without.isDisabled());
  assert.ok(await other.isEnabled());
});

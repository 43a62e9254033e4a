// Queues: how full they are, what they refuse, and what an operator does with them.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { openPage, see, seeGone, startServer } from "./support.mjs";

let server;
before(async () => (server = await startServer()));

test("a queue is paused and goes on, and a task that waits for that says so", async () => {
  const { id } = await server.enqueue({ queue: "email", kind: "welcome" });
  const page = await openPage(server, "#/queues/email");
  await page.getByRole("button", { name: "Pause" }).click();
  await see(page.getByText("This queue is paused"));
  await page.goto(`${server.url}/#/tasks/${id}`);
  await see(page.locator(".why").getByText("paused", { exact: true }));
  await page.getByRole("link", { name: "Queue email" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await see(page.getByRole("button", { name: "Pause" }));
  assert.equal((await server.ok("GET", "/v1/queues/email")).paused, false);
});

test("a limit is edited: what is wrong is said at the field, here and by the server", async () => {
  await server.enqueue({ queue: "limits", kind: "k" });
  const page = await openPage(server, "#/queues/limits");
  const capacity = page.getByLabel("Capacity", { exact: true });
  await capacity.fill("many");
  await see(page.getByText("must be a whole number"));
  assert.ok(await page.getByRole("button", { name: /^Save/ }).isDisabled());
  await capacity.fill("5");
  const lease = page.getByLabel("Lease");
  await lease.fill("1ms"); // Too short; only the server knows.
  await page.getByRole("button", { name: "Save 2 changes" }).click();
  await see(page.locator(".field", { has: lease }).locator(".field-error"));
  assert.equal(await lease.getAttribute("aria-invalid"), "true");
  await lease.fill("45s");
  await page.getByRole("button", { name: "Save 2 changes" }).click();
  await see(page.getByText("Saved 2 settings of limits."));
  await page.getByLabel("Backoff").selectOption("fixed");
  await page.getByLabel("Delay", { exact: true }).fill("3s");
  await page.getByRole("button", { name: "Save 1 change" }).click();
  await see(page.getByText("Saved 1 setting of limits."));
  const { settings } = await server.ok("GET", "/v1/queues/limits");
  assert.deepEqual([settings.capacity, settings.lease_for, settings.backoff.kind, settings.backoff.delay], [5, "45s", "fixed", "3s"]);
});

test("a burst at a small queue is refused, and that is seen", async () => {
  await server.ok("PUT", "/v1/queues/burst", { capacity: 10 });
  const page = await openPage(server);
  await see(page.getByRole("link", { name: "burst" }));
  const answers = await Promise.all(Array.from({ length: 60 }, () => server.call("POST", "/v1/tasks", { queue: "burst", kind: "click" })));
  assert.equal(answers.filter((each) => each.status === 503).length, 50);
  const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: "burst" }) });
  await see(row.getByText("10 / 10"));
  await see(row.locator(".alarming").first());
  await see(page.locator(".tile.refused .tile-value").filter({ hasNotText: /^(0\/s|–)$/ }));
  await row.getByRole("link").click();
  await see(page.getByText("10 of 10"));
  await page.getByRole("link", { name: "Enqueue" }).click();
  await page.getByLabel("Kind").fill("click");
  await page.getByRole("button", { name: "Enqueue" }).click();
  await see(page.getByText(/holds 10 of 10/));
});

test("a queue is purged only after a question", async () => {
  for (let i = 0; i < 3; i++) await server.enqueue({ queue: "old", kind: "k" });
  const page = await openPage(server, "#/queues/old");
  await page.getByRole("button", { name: "Purge…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("State").selectOption("ready");
  await page.keyboard.press("Escape");
  await seeGone(dialog);
  assert.equal((await server.ok("GET", "/v1/queues/old")).counts.ready, 3);
  await page.getByRole("button", { name: "Purge…" }).click();
  await dialog.getByLabel("State").selectOption("ready");
  await dialog.getByRole("button", { name: "Purge 3 ready tasks" }).click();
  await see(page.getByText("Purged 3 tasks from old."));
});

test("a thousand queues come a page at a time, and are found by name", async () => {
  const tasks = Array.from({ length: 1000 }, (_, i) => ({ queue: `many-${String(i).padStart(4, "0")}`, kind: "k" }));
  await server.ok("POST", "/v1/tasks/batch", tasks);
  const page = await openPage(server);
  await see(page.getByRole("button", { name: "More →" }));
  assert.equal(await page.locator("table.queues tbody tr").count(), 25);
  await page.getByLabel("Find a queue").fill("many-07");
  await see(page.getByRole("link", { name: "many-0700" }));
  await page.getByRole("button", { name: "More →" }).click();
  await see(page.getByRole("link", { name: "many-0725" }));
  await page.getByLabel("Find a queue").fill("many-0999");
  await see(page.getByRole("link", { name: "many-0999" }));
  assert.equal(await page.locator("table.queues tbody tr").count(), 1);
});

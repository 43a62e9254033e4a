// A task, from the form to its end, as a person sees it.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { openContext, openPage, see, seeGone, startServer } from "./support.mjs";

let server;
before(async () => (server = await startServer()));

test("a person enqueues a task, watches it run, and sees its result", async () => {
  const page = await openPage(server);
  await see(page.getByText("No queues yet."));
  await page.getByRole("link", { name: "Enqueue", exact: true }).click();
  await page.getByLabel("Queue", { exact: true }).fill("report");
  await page.getByLabel("Kind").fill("sales/monthly");
  await page.getByLabel("Payload").fill('{"month": }');
  await see(page.getByText('Line 1, column 11: unexpected "}".'));
  await page.getByLabel("Payload").fill('{"month": 11}');
  await see(page.getByText("JSON: good."));
  await page.getByRole("button", { name: "Enqueue" }).click();
  await page.getByRole("status").getByRole("link").click();

  await see(page.getByRole("heading", { name: "sales/monthly", level: 1 }));
  await see(page.getByText("Why isn’t this running?"));
  await see(page.locator(".why").getByText("no worker", { exact: true }));
  const [task] = await server.claim("report");
  await see(page.locator(".state-line").getByText("running", { exact: true }));
  await task.log("reading the shops");
  await task.progress(0.4, "8 of 20 shops");
  await see(page.getByText("8 of 20 shops"));
  const bar = page.getByRole("progressbar", { name: "Progress" });
  assert.equal(await bar.getAttribute("aria-valuenow"), "40");
  await task.done({ total: 1234 });
  await see(page.locator(".state-line").getByText("done", { exact: true }));
  await see(page.getByRole("region", { name: "Result" }).getByText('"total": 1234'));
  await see(page.getByRole("region", { name: "Log" }).getByText("reading the shops"));
});

test("what a worker said has the time of the reader", async () => {
  const { id } = await server.enqueue({ queue: "zone", kind: "k" });
  const [task] = await server.claim("zone");
  await task.log("how late is it");
  const { lines } = await server.ok("GET", `/v1/tasks/${id}/log`);
  const there = new Date(Date.parse(lines[0].at) + (5 * 60 + 45) * 60_000).toISOString().slice(11, 23);
  const page = await openPage(server, `#/tasks/${id}`, { timezoneId: "Asia/Kathmandu" });
  await see(page.getByRole("region", { name: "Log" }).getByText(`${there}  how late is it`));
});

test("a task that fails shows each error, dies, and is replayed from the dead letters", async () => {
  const { id } = await server.enqueue({ queue: "mail", kind: "welcome", max_attempts: 2, payload: { to: "a" } });
  await server.enqueue({ queue: "mail", kind: "other", payload: 1, delay: "1h" });
  const page = await openPage(server, `#/tasks/${id}`);
  const [first] = await server.claim("mail");
  await first.fail("the mail server does not answer", { retry_in: "0s" });
  await see(page.getByText("Attempt 1 failed"));
  const [second] = await server.claim("mail");
  await second.fail("no such mailbox");
  await see(page.getByText("Attempt 2 failed"));
  await see(page.locator(".state-line").getByText("dead", { exact: true }));

  await page.getByRole("link", { name: "Dead letters" }).click();
  const row = page.getByRole("row").filter({ hasText: "no such mailbox" });
  await see(row);
  await row.getByRole("button", { name: /Replay/ }).click();
  const dialog = page.getByRole("dialog");
  await see(dialog.getByText("1 task now."));
  await dialog.getByRole("button", { name: "Retry 1 task" }).click();
  await see(page.getByText("Retried 1 task."));
  await see(page.getByText("No dead letters."));
  const [third] = await server.claim("mail");
  assert.equal(third.id, id);
  await third.done("sent");
});

test("tasks are filtered, and a filter is counted before all that it means are cancelled", async () => {
  for (let i = 0; i < 3; i++) await server.enqueue({ queue: "bulk", kind: "a", group: "g1" });
  await server.enqueue({ queue: "bulk", kind: "b", group: "g2" });
  const page = await openPage(server, "#/tasks?queue=bulk");
  const rows = page.locator("tbody tr");
  await see(rows.nth(3));
  await page.getByLabel("Group").fill("g2");
  await seeGone(rows.nth(1));
  await page.getByLabel("Group").fill("");
  await page.getByLabel("Kind").fill("a");
  await seeGone(rows.nth(3));
  assert.ok(await page.getByRole("button", { name: "Cancel all…" }).isDisabled());
  await page.getByLabel("State").selectOption("ready");
  await page.getByRole("button", { name: "Cancel all…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel 3 tasks" }).click();
  await see(page.getByText("Cancelled 3 tasks."));
  await see(page.getByText("No task is like that."));
  const left = await server.ok("GET", "/v1/tasks?queue=bulk&state=ready");
  assert.deepEqual(left.tasks.map((each) => each.kind), ["b"]);
});

test("new tasks come into the list by themselves, and an id leads to its page", async () => {
  const page = await openPage(server, "#/tasks?queue=live");
  await see(page.getByText("No task is like that."));
  const { id } = await server.enqueue({ queue: "live", kind: "appears" });
  await see(page.getByRole("link", { name: "appears" }));
  await page.getByLabel("Id").fill(id);
  await page.getByLabel("Id").press("Enter");
  await see(page.getByRole("heading", { name: "appears", level: 1 }));
});

test("markup in a payload, an error or a log is shown as text and does nothing", async () => {
  const markup = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
  const { id } = await server.enqueue({ queue: "markup", kind: "k", payload: { html: markup }, max_attempts: 1, group: markup });
  const [task] = await server.claim("markup");
  await task.log(markup);
  await task.fail(markup);
  const page = await openPage(server, `#/tasks/${id}`);
  await see(page.getByRole("region", { name: "Payload" }).getByText("<img src=x onerror="));
  await see(page.locator(".timeline-text").getByText(markup));
  await see(page.getByRole("region", { name: "Log" }).getByText(markup));
  for (const [hash, place] of [["#/dead", page.getByRole("link", { name: markup })], ["#/tasks?queue=markup", page.getByRole("link", { name: "k", exact: true })]]) {
    await page.goto(`${server.url}/${hash}`);
    await see(place);
    assert.equal(await page.locator("main img, main script").count(), 0);
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
});

test("a list goes on by cursor, and back", async () => {
  await server.ok("POST", "/v1/tasks/batch", Array.from({ length: 120 }, (_, i) => ({ queue: "pages", kind: `n${i}` })));
  const page = await openPage(server, "#/tasks?queue=pages");
  await see(page.getByRole("link", { name: "n119", exact: true }));
  assert.equal(await page.locator("tbody tr").count(), 50);
  await page.getByRole("button", { name: "Older →" }).click();
  await see(page.getByRole("link", { name: "n69", exact: true }));
  await page.getByRole("button", { name: "Older →" }).click();
  await see(page.getByRole("link", { name: "n0", exact: true }));
  assert.ok(await page.getByRole("button", { name: "Older →" }).isDisabled());
  await page.getByRole("button", { name: "← Newer" }).click();
  await see(page.getByRole("link", { name: "n69", exact: true }));
});

test("with a rare filter a list says that it has not seen all, and looks further when told to", async () => {
  const { id } = await server.enqueue({ queue: "rare", kind: "needle" });
  const found = await server.ok("GET", `/v1/tasks/${id}`);
  const asked = [];
  const context = await openContext();
  await context.route("**/v1/tasks?**", (route) => { // As a server does that has millions of others to look at.
    const cursor = new URL(route.request().url()).searchParams.get("cursor") ?? "";
    asked.push(cursor);
    const answers = { "": { tasks: [], next_cursor: "30" }, 30: { tasks: [], next_cursor: "20" }, 20: { tasks: [found] } };
    return route.fulfill({ json: answers[cursor] });
  });
  const page = await openPage(server, "#/tasks?kind=needle", {}, context);
  await see(page.getByText("None among the newest that were looked at."));
  assert.equal(await page.getByText("No task is like that.").count(), 0);
  await page.getByRole("button", { name: "Look further" }).click();
  await see(page.getByRole("link", { name: "needle" }));
  assert.deepEqual([...new Set(asked)], ["", "30", "20"]);
});

test("large numbers stay as they were typed: as curl, in the store, and on the page of the task", async () => {
  const page = await openPage(server, "#/enqueue?queue=numbers&kind=large");
  await page.getByLabel("Payload").fill('{"id": 12345678901234567890}');
  await see(page.getByText('"payload":{"id":12345678901234567890}'));
  await page.getByRole("button", { name: "Enqueue" }).click();
  await page.getByRole("status").getByRole("link").click();
  await see(page.getByRole("region", { name: "Payload" }).getByText('"id": 12345678901234567890'));
  const list = await (await fetch(`${server.url}/v1/tasks?queue=numbers`)).text();
  assert.ok(list.includes("12345678901234567890"), list);
});

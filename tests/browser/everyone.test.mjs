// For those who do not see, do not point, or look at it on a phone.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { accessibilityProblems, openPage, overflow, see, seeGone, startServer } from "./support.mjs";

let server;
let pages;
before(async () => {
  server = await startServer();
  const workflow = await server.ok("POST", "/v1/workflows", {
    name: "checkout-17",
    steps: [
      { name: "charge-the-customer-now", task: { queue: "payment", kind: "charge" } },
      { name: "receipt", after: ["charge-the-customer-now"], task: { queue: "email", kind: "receipt" } },
      { name: "pack", after: ["charge-the-customer-now"], task: { queue: "stock", kind: "pack" } },
      { name: "ship", after: ["pack"], task: { queue: "stock", kind: "ship" } },
    ],
  });
  await server.ok("PUT", "/v1/schedules/nightly", { cron: "0 3 * * *", task: { queue: "report", kind: "sales" } });
  const { id } = await server.enqueue({
    queue: "a-queue-with-a-name-that-is-as-long-as-it-may-be-sixty-four-aaaa", kind: "k".repeat(128), max_attempts: 1,
    payload: { long: "x".repeat(3000) },
  });
  const [dead] = await server.claim("a-queue-with-a-name-that-is-as-long-as-it-may-be-sixty-four-aaaa");
  await dead.fail("an error without any space in it".replaceAll(" ", "_").repeat(9));
  await server.claim("payment");
  pages = [
    ["#/", "Overview"], ["#/tasks", "Tasks"], [`#/tasks/${id}`, "k".repeat(128)], ["#/queues/email", "email"],
    ["#/dead", "Dead letters"], ["#/workflows", "Workflows"], [`#/workflows/${workflow.id}`, "checkout-17"],
    ["#/schedules", "Schedules"], ["#/workers", "Workers"], ["#/enqueue", "Enqueue a task"], ["#/nowhere", "Not found"],
  ];
});

// Until nothing of it is on its way any more.
async function open(page, [hash, title]) {
  await page.goto(`${server.url}/${hash}`);
  await see(page.getByRole("heading", { name: title, level: 1, exact: true }));
  await seeGone(page.getByText("Loading…"));
}

for (const colorScheme of ["light", "dark"]) {
  test(`no page has anything that the accessibility checks refuse, in ${colorScheme} colours`, async () => {
    const page = await openPage(server, "#/", { colorScheme });
    const found = [];
    for (const each of pages) {
      await open(page, each);
      found.push(...(await accessibilityProblems(page)).map((problem) => `${each[0]}: ${problem}`));
    }
    assert.deepEqual(found, []);
  });
}

test("no page is wider than a phone", async () => {
  const page = await openPage(server, "#/", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const wide = [];
  for (const each of pages) {
    await open(page, each);
    const by = await overflow(page);
    if (by > 0) wide.push(`${each[0]} by ${by}`);
  }
  assert.deepEqual(wide, []);
  await page.goto(`${server.url}/#/`);
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("link", { name: "Workers" }).click();
  await see(page.getByRole("heading", { name: "Workers", level: 1 }));
});

test("a whole id is seen in its field, where a screen is wide enough for it", async () => {
  const page = await openPage(server, "#/tasks?queue=none");
  for (const width of [1600, 1280, 1000, 800]) {
    await page.setViewportSize({ width, height: 844 });
    await page.getByLabel("Id").fill("018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c");
    const { shown, needed } = await page.getByLabel("Id").evaluate((field) => ({ shown: field.clientWidth, needed: field.scrollWidth }));
    assert.ok(needed <= shown, `${width}: ${needed} > ${shown}`);
    assert.ok((await overflow(page)) <= 0, `${width} is too wide`);
  }
});

test("on a phone the first cell says what columns without room would, and only there", async () => {
  await server.enqueue({ queue: "small", kind: "thumb", group: "ann" });
  const page = await openPage(server, "#/", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const lists = [
    [["#/", "Overview"], "small", "in "], [["#/tasks?queue=small", "Tasks"], "thumb", "small, group ann"],
    [["#/schedules", "Schedules"], "nightly", "makes sales, report"], [["#/schedules", "Schedules"], "nightly", "last run –"],
    [["#/workers", "Workers"], "test/1", "payment"], [["#/workflows", "Workflows"], "checkout-17", "4 steps to go"],
    [pages.find(([hash]) => hash.startsWith("#/workflows/")), "receipt", "after charge-the-customer-now"],
    [["#/dead", "Dead letters"], "an_error", "latest "],
  ];
  for (const [place, row, line] of lists) {
    await open(page, place);
    const shown = page.locator("tbody tr").filter({ hasText: row }).locator("td:first-child .narrow").filter({ hasText: line });
    await see(shown);
    await page.setViewportSize({ width: 1280, height: 844 });
    await seeGone(shown);
    await page.setViewportSize({ width: 390, height: 844 });
  }
});

test("a keyboard is enough: to skip, to go, to open a row, and to answer a question", async () => {
  await server.enqueue({ queue: "keys", kind: "by-keyboard" });
  const page = await openPage(server, "#/tasks?queue=keys");
  await see(page.getByRole("link", { name: "by-keyboard" }));
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "Skip to the content");
  await page.keyboard.press("Enter");
  await tabTo(page, "by-keyboard");
  await page.keyboard.press("Enter");
  await see(page.getByRole("heading", { name: "by-keyboard", level: 1 }));
  await tabTo(page, "Cancel…");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Cancel this task?" });
  await see(dialog);
  const seen = new Set();
  for (let i = 0; i < 6; i++) {
    seen.add(await focused(page));
    await page.keyboard.press("Tab");
  }
  assert.ok(!seen.has("Overview"), "the focus stays in the question");
  await page.keyboard.press("Escape");
  await seeGone(dialog);
  assert.equal(await focused(page), "Cancel…");
  await page.keyboard.press("Enter");
  await tabTo(page, "Cancel the task");
  await page.keyboard.press("Enter");
  await see(page.locator(".state-line").getByText("cancelled", { exact: true }));
});

const focused = (page) => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");

async function tabTo(page, text) {
  for (let i = 0; i < 60; i++) {
    if ((await focused(page)) === text) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`nothing that says "${text}" can be reached with Tab`);
}

test("the focus goes to the heading of each page one goes to, and stays where it is on the first", async () => {
  const { id } = await server.enqueue({ queue: "focus", kind: "followed" });
  const page = await openPage(server, "#/tasks?queue=focus");
  await see(page.getByRole("link", { name: "followed" }));
  assert.equal(await page.evaluate(() => document.activeElement === document.body), true);
  const heading = (name) => page.waitForFunction((text) => document.activeElement?.matches("h1") && document.activeElement.textContent === text, name);
  await page.getByRole("link", { name: "followed" }).press("Enter"); // A link within the page.
  await heading("followed");
  await page.getByRole("region", { name: "About" }).getByRole("link", { name: "focus" }).press("Enter");
  await heading("focus");
  await page.getByRole("link", { name: "Workers" }).press("Enter"); // One of the frame.
  await heading("Workers");
  await page.goto(`${server.url}/#/tasks/${id}`);
  await page.getByRole("link", { name: "Tasks" }).last().press("Enter");
  await heading("Tasks");
});

test("screen readers are told what each thing is", async () => {
  const page = await openPage(server);
  await see(page.getByRole("link", { name: "payment" }));
  const tree = await page.locator("body").ariaSnapshot();
  for (const part of ["navigation \"Pages\"", "heading \"Overview\" [level=1]", "link \"Tasks\"", "table", "columnheader \"Unfinished of capacity\"", "meter \"payment: unfinished tasks of its capacity\"", "list \"Tasks now\"", "searchbox \"Find a queue\""]) {
    assert.ok(tree.includes(part), `${part} is missing in:\n${tree}`);
  }
});

test("the colours follow the system until somebody chooses, and the choice stays", async () => {
  const page = await openPage(server, "#/", { colorScheme: "dark" });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  await page.getByRole("button", { name: "Light colours" }).click();
  assert.equal(await theme(), "light");
  await page.reload();
  await see(page.getByRole("button", { name: "Dark colours" }));
  assert.equal(await theme(), "light");
});

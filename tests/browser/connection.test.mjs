// A stream that is cut: said at once, and over when the server is back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openContext, openPage, see, seeGone, startServer } from "./support.mjs";

test("when the server is away the page says so, and when it is back it shows what is true then", async () => {
  const server = await startServer();
  const { id } = await server.enqueue({ queue: "email", kind: "welcome" });
  const page = await openPage(server, `#/tasks/${id}`);
  await see(page.getByText("live", { exact: true }));
  await see(page.locator(".state-line").getByText("ready", { exact: true }));

  await server.stop();
  await see(page.getByRole("alert").getByText("The connection is cut"));
  await server.restart();
  const [task] = await server.claim("email");
  await task.done("while nobody looked");

  await seeGone(page.getByText("The connection is cut"));
  await see(page.locator(".state-line").getByText("done", { exact: true }));
  await see(page.getByText("live", { exact: true }));
});

test("a page that is opened while the server is away comes by itself", async () => {
  const server = await startServer();
  await server.enqueue({ queue: "email", kind: "welcome" });
  const page = await openPage(server);
  await see(page.getByRole("link", { name: "email" }));
  await page.route("**/v1/server", (route) => route.abort());
  await page.reload();
  await see(page.getByText("the server cannot be reached"));
  await page.unroute("**/v1/server");
  await see(page.getByRole("link", { name: "email" }));
});

test("a page whose answers take longer than the time between changes comes all the same, and goes on", async () => {
  const server = await startServer();
  const { id } = await server.enqueue({ queue: "email", kind: "welcome" });
  const [task] = await server.claim("email");
  const context = await openContext();
  let givenUp = 0;
  await context.route(`**/v1/tasks/${id}`, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 600));
    await route.continue().catch(() => givenUp++);
  });
  context.on("requestfailed", (request) => request.url().endsWith(id) && givenUp++);
  let isOver = false;
  const changes = (async () => {
    for (let i = 0; !isOver; i = (i + 1) % 100) await task.progress(i / 100, `${i} of 100`);
  })();
  const page = await openPage(server, `#/tasks/${id}`, {}, context);
  const note = page.getByRole("region", { name: "Progress" }).getByText(/of 100/);
  await see(note);
  const first = await note.textContent();
  await page.waitForFunction((before) => !document.querySelector(".panel-head .quiet")?.textContent?.includes(before), first);
  isOver = true;
  await changes;
  assert.equal(givenUp, 0);
});

test("what the server refuses to tell of is no cut connection", async () => {
  const server = await startServer();
  await server.enqueue({ queue: "email", kind: "welcome" });
  for (const [hash, said] of [
    ["#/tasks/nonsense", "Could not be loaded"],
    ["#/workflows/01a1e8d0-9b61-7000-9072-e55e3f0443e8", "Not found"], // As one that was forgotten.
    ["#/tasks?queue=my+queue", "No task is like that."],
  ]) {
    const page = await openPage(server, hash);
    await see(page.getByText(said));
    await see(page.locator(".dot.open"));
    assert.equal(await page.getByText("The connection is cut").count(), 0);
  }
});

test("a server that hangs is a cut connection, on every page, until it answers again", async () => {
  const server = await startServer();
  await server.enqueue({ queue: "email", kind: "welcome" });
  const page = await openPage(server);
  await see(page.locator(".dot.open"));
  const banner = page.getByText("The connection is cut");
  const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  server.process.kill("SIGSTOP");
  try {
    await see(banner);
    await page.waitForRequest("**/v1/events?**"); // It tries again, and hangs again.
    await drawn();
    assert.equal(await banner.count(), 1);
    await page.getByRole("link", { name: "Dead letters" }).click();
    await see(page.getByRole("heading", { name: "Dead letters" }));
    await drawn();
    assert.equal(await banner.count(), 1);
  } finally {
    server.process.kill("SIGCONT");
  }
  await seeGone(banner);
  await see(page.locator(".dot.open"));
});

// A browser has six connections for a server: with a stream for each tab, hidden or not, the seventh would wait for ever.
test("a tab that nobody looks at takes up no connection, and shows what is true once somebody does", async () => {
  const server = await startServer();
  const { id } = await server.enqueue({ queue: "email", kind: "welcome" });
  const page = await openPage(server, `#/tasks/${id}`);
  await see(page.locator(".dot.open"));
  const look = (hidden) =>
    page.evaluate((is) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  const ended = page.waitForEvent("requestfailed", (request) => request.url().includes("/v1/events"));
  await look(true);
  await ended;
  const [task] = await server.claim("email");
  await task.done("while nobody looked");
  await look(false);
  await see(page.locator(".state-line").getByText("done", { exact: true }));
  await see(page.locator(".dot.open"));
});

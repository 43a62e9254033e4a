// Who may look, and who may change something.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { openContext, openPage, see, startServer } from "./support.mjs";

let server;
let admin;
let produce;
before(async () => {
  server = await startServer();
  admin = server.createToken("admin");
  produce = server.createToken("produce");
  server.token = admin;
  for (let isNeeded = false; !isNeeded; ) isNeeded = (await fetch(`${server.url}/v1/queues`)).status === 401;
  await server.enqueue({ queue: "email", kind: "welcome", id: "01a1e8d0-9b61-7000-9072-e55e3f0443e8" });
});

async function signIn(page, token) {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Open" }).click();
}

test("a token is asked for, a wrong one refused, and a good one kept for the tab only", async () => {
  const context = await openContext();
  const page = await openPage(server, "#/queues/email", {}, context);
  await signIn(page, "wrong");
  await see(page.getByText("This token is unknown, over, or revoked."));
  await signIn(page, admin);
  await see(page.getByRole("heading", { name: "email", level: 1 }));
  await see(page.getByText("live", { exact: true }));
  await page.reload();
  await see(page.getByRole("heading", { name: "email", level: 1 }));

  const other = await openPage(server, "#/", {}, context);
  await see(other.getByLabel("Token"));
  const kept = await page.evaluate(() => [JSON.stringify({ ...localStorage }), document.cookie].join());
  assert.ok(!kept.includes(admin.slice(0, 12)), kept);
  await page.getByRole("button", { name: "Forget the token" }).click();
  await see(page.getByLabel("Token"));
});

test("with a produce token everything is seen, tasks are handed in, and nothing else is changed", async () => {
  const page = await openPage(server);
  await signIn(page, produce);
  await see(page.getByText("Read-only: this token has the role produce."));
  await page.getByRole("link", { name: "email" }).click();
  for (const name of ["Pause", "Purge…", "Save"]) {
    const button = page.getByRole("button", { name, exact: true });
    await see(button);
    assert.ok(await button.isDisabled(), name);
  }
  assert.match(await page.getByRole("button", { name: "Pause" }).getAttribute("title"), /needs an admin token/);
  assert.ok(await page.getByLabel("Capacity", { exact: true }).isDisabled());
  await page.getByRole("link", { name: "Enqueue" }).click();
  await page.getByLabel("Kind").fill("hello");
  await page.getByRole("button", { name: "Enqueue" }).click();
  await page.getByRole("status").getByRole("link").click();
  await see(page.getByRole("heading", { name: "hello", level: 1 }));
  assert.ok(await page.getByRole("button", { name: "Cancel…" }).isDisabled());
});

// handoff serve --demo: something to set off, and to watch.
import { test } from "node:test";
import { openPage, see, startServer } from "./support.mjs";

test("with --demo there is a panel to try things, and what it sets off is seen", async () => {
  const server = await startServer("--demo");
  const page = await openPage(server);
  const panel = page.getByRole("region", { name: "Try it" });
  await see(panel);
  await panel.getByRole("button").first().click();
  await see(page.getByRole("status").getByText("on its way"));
  await see(page.locator(".tile.done .tile-value").filter({ hasNotText: /^(0\/s|–)$/ }));
});

test("without --demo there is none", async () => {
  const server = await startServer();
  const page = await openPage(server);
  await see(page.getByText("No queues yet."));
  if (await page.getByText("Try it").count()) throw new Error("the panel is shown");
});

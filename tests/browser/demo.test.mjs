// handoff serve --demo: something to set off, and to watch.
import { test } from "node:test";
import { openPage, see, startServer } from "./support.mjs";

test("with --demo there is a panel to try things, and what it sets off is seen", async () => {
  const server = await startServer("--demo");
  const page = await openPage(server);
  const panel = page.getByRole("region", { name: "Try it" });
  await see(panel);
  await see(page.locator(".tile.done .tile-value").filter({ hasNotText: /^(0\/s|–)$/ }));
  await panel.getByRole("button", { name: "Fire 50,000 clicks" }).click();
  await see(page.locator(".tile.refused .tile-value").filter({ hasNotText: /^(0\/s|–)$/ }));
  await panel.getByRole("button", { name: "Place an order" }).click();
  await page.getByRole("status").getByRole("link", { name: "Watch the workflow" }).click();
  await see(page.getByRole("region", { name: "Graph of the workflow" }).getByRole("link", { name: /: (running|done)/ }));
});

test("without --demo there is none", async () => {
  const server = await startServer();
  const page = await openPage(server);
  await see(page.getByText("No queues yet."));
  if (await page.getByText("Try it").count()) throw new Error("the panel is shown");
});

// A stream that is cut: said at once, and over when the server is back.
import { test } from "node:test";
import { openPage, see, seeGone, startServer } from "./support.mjs";

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

// Makes the pictures of the README from a real run of `handoff serve --demo`:
//   HANDOFF_PROGRAM=../build/release/handoff npm run screenshots
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const images = new URL("../../docs/images/", import.meta.url).pathname;
mkdirSync(images, { recursive: true });
const program = process.env.HANDOFF_PROGRAM ?? new URL("../../build/release/handoff", import.meta.url).pathname;
const server = spawn(program, ["serve", "--demo", "--json", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] });
const [line] = await once(createInterface({ input: server.stdout }), "line");
const { url } = JSON.parse(line);
const get = async (path) => (await fetch(url + path)).json();

// Waits for what the pictures are to show.
async function until(fact) {
  for (let tries = 0; tries < 400; tries++) {
    const found = await fact();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`it never came: ${fact}`);
}

const browser = await chromium.launch({
  executablePath: process.env.HANDOFF_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  const page = await browser.newPage({ viewport: { width: 1200, height: 940 }, colorScheme: "light" });
  const setOff = (name) => fetch(`${url}/v1/demo/${name}`, { method: "POST" });
  for (const each of ["email", "image", "report", "flaky", "limited", "workflow"]) await setOff(each);
  await until(async () => (await get("/v1/totals?history=90s")).history.in.length > 60);
  await setOff("burst");
  await page.goto(`${url}/#/`);
  await page.locator("table.queues tbody tr").nth(2).waitFor();
  await page.locator(".u-wrap").nth(2).waitFor();
  await until(async () => {
    const { rejected } = (await get("/v1/totals?history=60s")).history; // All of the burst, and some time after it.
    return rejected.some((each) => each > 0) && rejected.slice(-3).every((each) => each === 0);
  });
  await page.locator(".tile.refused .tile-value").filter({ hasNotText: /^(0\/s|–)$/ }).waitFor();
  await page.screenshot({ path: `${images}dashboard.png` });

  const failed = await until(async () => {
    const { tasks } = await get("/v1/tasks?queue=payments&limit=200&payload=false");
    return tasks.find((each) => each.state === "dead" && each.attempt > 1); // A list has no errors.
  });
  await page.goto(`${url}/#/tasks/${failed.id}`);
  await page.locator(".timeline li").nth(2).waitFor();
  await page.setViewportSize({ width: 1200, height: 620 });
  await page.screenshot({ path: `${images}task.png` });
} finally {
  await browser.close();
  server.kill();
}

// Prints what a browser loads, compressed, and fails if that is more than was promised.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const most = 150 * 1024;
const folder = new URL("../dist", import.meta.url).pathname;

function* files(path) {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) yield* files(join(path, entry.name));
    else yield join(path, entry.name);
  }
}

let total = 0;
for (const file of files(folder)) {
  const size = gzipSync(readFileSync(file), { level: 9 }).length;
  total += size;
  console.log(`${(size / 1024).toFixed(1).padStart(7)} KiB  ${file.slice(folder.length + 1)}`);
}
const verdict = total <= most ? "ok" : "FAILED";
console.log(`${verdict} size: ${(total / 1024).toFixed(1)} KiB compressed, ${most / 1024} KiB allowed`);
process.exit(total <= most ? 0 : 1);

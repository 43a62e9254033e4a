import { defineConfig } from "vitest/config";

// `npm run dev` serves the pages and passes the API on to a server that runs already.
const server = process.env["HANDOFF_URL"] ?? "http://127.0.0.1:8077";

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // The Content-Security-Policy allows no data: scripts or styles.
    modulePreload: { polyfill: false },
    reportCompressedSize: false, // scripts/size.mjs says it, and refuses what is too much.
  },
  server: { proxy: { "/v1": { target: server, changeOrigin: true } } },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
});

import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/prshots/server/web/dashboard",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    // The page's Content-Security-Policy takes no data: address, so nothing is inlined.
    assetsInlineLimit: 0,
    target: "es2022",
  },
  // `npm run dev` beside a running service: pages from Vite, data from its API.
  server: {
    proxy: { "/v1": "http://localhost:8080", "/auth": "http://localhost:8080" },
  },
  // Pure functions share nothing, so one thread without walls between the files does.
  test: { pool: "threads", isolate: false, include: ["src/**/*.test.ts"] },
});

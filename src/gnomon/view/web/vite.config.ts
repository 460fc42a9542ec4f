import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  html: { cspNonce: "GNOMON_NONCE" },
  build: {
    // What the licences of the packages within ask for.
    license: { fileName: "licenses.md" },
    outDir: "../static",
    emptyOutDir: true,
    target: "es2022",
    // Everything is a file of its own: the page's policy allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});

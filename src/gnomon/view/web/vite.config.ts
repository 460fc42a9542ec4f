import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  html: { cspNonce: "GNOMON_NONCE" },
  build: {
    outDir: "../static",
    emptyOutDir: true,
    target: "es2022",
    // Everything is a file of its own: the page's policy allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What the page is made of asks that its licences go with it.
    license: { fileName: "licences.txt" },
    rolldownOptions: {
      output: {
        assetFileNames: ({ names }) =>
          names[0]?.startsWith("LICENSE") ? "assets/ibm-plex-licence-[hash].txt" : "assets/[name]-[hash][extname]",
      },
    },
  },
});

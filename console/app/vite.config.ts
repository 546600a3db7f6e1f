/** How the console is built; scripts/bundle/console-bundle.ts runs it. */
import tailwindcss from "@tailwindcss/vite";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  plugins: [tailwindcss()],
  build: {
    target: "es2022",
    manifest: "manifest.json",
    // Its code would be inline, and every browser of the target preloads modules itself.
    modulePreload: { polyfill: false },
    // No file becomes part of another one as a data URL, which the Content-Security-Policy would refuse.
    assetsInlineLimit: 0,
    emptyOutDir: true,
    reportCompressedSize: false,
    rolldownOptions: {
      // Packages mark files for servers that render; there is none here.
      onLog: (level, log, handle) => log.code === "MODULE_LEVEL_DIRECTIVE" || handle(level, log),
    },
  },
});

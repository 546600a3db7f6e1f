/** The API explorer: a page with Swagger UI, served without other hosts. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** Next to the bundled command and in the repository; there Swagger UI is a package. */
const PLACES = ["./explorer/", "../../node_modules/swagger-ui-dist/"];

const PAGE = "/docs";
const FILES: ReadonlyMap<string, string> = new Map<string, string>(
  Object.entries({
    [PAGE]: "index.html",
    "/docs/explorer.css": "explorer.css",
    "/docs/explorer.js": "explorer.js",
    "/docs/swagger-ui.css": "swagger-ui.css",
    "/docs/swagger-ui-bundle.js": "swagger-ui-bundle.js",
  }),
);
export const EXPLORER_PATHS: readonly string[] = [...FILES.keys()];

const CONTENT_TYPES: ReadonlyMap<string, string> = new Map<string, string>(
  Object.entries({
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
  }),
);

/** Loads nothing from other hosts, and forbids framing. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** A file of the explorer, by one of EXPLORER_PATHS. */
export async function explorerFile(path: string): Promise<Response> {
  const name = FILES.get(path) ?? "";
  const found = PLACES.map((place) => fileURLToPath(new URL(place + name, import.meta.url))).find(existsSync);
  if (found === undefined) throw new Error(`${name} of the explorer is missing; install flash again`);
  return new Response(await readFile(found), {
    headers: {
      "Content-Type": CONTENT_TYPES.get(extname(name)) ?? "application/octet-stream",
      "Content-Security-Policy": CONTENT_POLICY,
      "X-Content-Type-Options": "nosniff",
      // Another version of the command may use this port next.
      "Cache-Control": "no-cache",
    },
  });
}

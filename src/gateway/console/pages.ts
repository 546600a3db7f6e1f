/** The files of the console. Its pages are one document, which shows what its address says. */
import type { Context, Hono } from "hono";
import { accepts } from "hono/accepts";
import { ServiceError } from "../../contract/errors.ts";
import type { Env } from "../../env.ts";
import { pageFile } from "../page-file.ts";

type PageContext = Context<{ Bindings: Env }>;

/** The first parts of the addresses that pages have, beside `/`. */
export const PAGES = [
  "sign-in",
  "endpoints",
  "hosts",
  "apps",
  "pods",
  "templates",
  "volumes",
  "secrets",
  "registries",
  "webhooks",
  "usage",
  "audit",
  "access",
  "settings",
];

/** Outputs of jobs are shown as what they are, never as documents. */
const POLICY = { "img-src": "'self' data:", "media-src": "data:" };

/** Each build gives its files other names. */
const FOR_EVER = "public, max-age=31536000, immutable";

/** Adds the addresses of pages to the routes. */
export function addConsolePages(routes: Hono<{ Bindings: Env }>): void {
  for (const page of PAGES) {
    routes.get(`/${page}`, pageForBrowsers);
    routes.get(`/${page}/*`, pageForBrowsers);
  }
}

/** The document of all pages. */
export async function consolePage(context: PageContext): Promise<Response> {
  const page = await pageFile(context, "/console/index.html", POLICY);
  page.headers.set("Cache-Control", "no-cache");
  page.headers.set("Cross-Origin-Opener-Policy", "same-origin");
  page.headers.set("X-Frame-Options", "DENY");
  return page;
}

/** A script or style sheet of it. */
export async function consoleAsset(context: PageContext): Promise<Response> {
  const file = await pageFile(context, context.req.path);
  file.headers.set("Cache-Control", FOR_EVER);
  return file;
}

/** A program that has mistaken the address gets an error that it can read. */
async function pageForBrowsers(context: PageContext): Promise<Response> {
  const supports = ["application/json", "text/html"];
  const type = accepts(context, { header: "Accept", supports, default: "application/json" });
  if (type === "text/html") return await consolePage(context);
  throw new ServiceError("not_found", `There is nothing at ${context.req.path}.`);
}

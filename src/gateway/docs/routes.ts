/** Pages of the edge and their files. */
import { type Context, Hono } from "hono";
import { accepts } from "hono/accepts";
import { ServiceError } from "../../contract/errors.ts";
import type { Env } from "../../env.ts";
import { readSuffixes } from "../load-balancing/endpoint-url.ts";

/** Allows only resources of the edge, and no inline scripts. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Serves a file of the assets. */
export async function pageFile(context: Context<{ Bindings: Env }>, path: string): Promise<Response> {
  const found = await context.env.ASSETS.fetch(new Request(new URL(path, context.req.url), context.req.raw));
  if (found.status === 404) throw new ServiceError("not_found", `There is nothing at ${context.req.path}.`);
  const headers = new Headers(found.headers);
  headers.set("Content-Security-Policy", CONTENT_SECURITY_POLICY);
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("Referrer-Policy", "no-referrer");
  return new Response(found.body, { status: found.status, headers });
}

/** Routes to be mounted at /docs. */
export function docsRoutes(): Hono<{ Bindings: Env }> {
  const routes = new Hono<{ Bindings: Env }>();
  routes.get("/", (context) => pageFile(context, "/docs/index.html"));
  routes.get("/*", (context) => pageFile(context, context.req.path));
  return routes;
}

/** Routes to be mounted at /flash. */
export function loginRoutes(): Hono<{ Bindings: Env }> {
  const routes = new Hono<{ Bindings: Env }>();
  // Without the query, whose id gives access to the key; assets do not need it.
  routes.get("/login", (context) => pageFile(context, "/flash/login.html"));
  routes.get("/login.css", (context) => pageFile(context, context.req.path));
  routes.get("/login.js", (context) => pageFile(context, context.req.path));
  return routes;
}

const PATHS = {
  name: "edgerun",
  docs: "/docs",
  queue: "/v2/<endpoint id>/run",
  direct: "/lb/<endpoint id>/<path>",
  pods: "/pods/<pod id>/<port>/<path>",
  rest: "/v1",
  graphql: "/graphql",
  packages: "/packages",
};

/** `directHosts`, `podHosts`: suffixes of the hosts of load-balanced endpoints, and of ports of pods. */
const pathsOf = ({ LB_HOSTS = "", POD_HOSTS = "" }: Partial<Env>) => ({
  ...PATHS,
  directHosts: [...readSuffixes(LB_HOSTS)],
  podHosts: [...readSuffixes(POD_HOSTS)],
});

const MEDIA_TYPES = ["application/json", "text/html"];

/** Routes to be mounted at /. */
export function homeRoutes(): Hono<{ Bindings: Env }> {
  const routes = new Hono<{ Bindings: Env }>();
  routes.get("/", async (context) => {
    const type = accepts(context, { header: "Accept", supports: MEDIA_TYPES, default: "application/json" });
    const answer =
      type === "text/html" ? await pageFile(context, "/home/index.html") : context.json(pathsOf(context.env));
    answer.headers.set("Vary", "Accept");
    return answer;
  });
  routes.get("/home.js", (context) => pageFile(context, "/home/home.js"));
  routes.get("/favicon.ico", (context) => pageFile(context, "/docs/icon.svg"));
  return routes;
}

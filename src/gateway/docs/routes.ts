/** Pages of the edge and their files. */
import { Hono } from "hono";
import { accepts } from "hono/accepts";
import type { Env } from "../../env.ts";
import { consolePage } from "../console/pages.ts";
import { readSuffixes } from "../load-balancing/endpoint-url.ts";
import { pageFile } from "../page-file.ts";

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
    const answer = type === "text/html" ? await consolePage(context) : context.json(pathsOf(context.env));
    answer.headers.set("Vary", "Accept");
    return answer;
  });
  routes.get("/favicon.ico", (context) => pageFile(context, "/docs/icon.svg"));
  return routes;
}

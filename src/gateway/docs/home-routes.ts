/** What stands at the address of the edge itself: a page for browsers, and JSON for programs. */
import { accepts } from "hono/accepts";
import { Hono } from "hono";
import type { Env } from "../../env.ts";
import { readSuffixes } from "../load-balancing/endpoint-url.ts";
import { pageFile } from "./page-file.ts";

const PATHS = {
  name: "edgerun",
  docs: "/docs",
  queue: "/v2/<endpoint id>/run",
  direct: "/lb/<endpoint id>/<path>",
  rest: "/v1",
  graphql: "/graphql",
  packages: "/packages",
};

/** `directHosts`: below them load-balanced endpoints have hosts of their own. */
const pathsOf = ({ LB_HOSTS: setting = "" }: Partial<Env>) => ({
  ...PATHS,
  directHosts: [...readSuffixes(setting)],
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

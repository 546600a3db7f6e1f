/** The pages of the documentation: `/docs`. */
import { Hono } from "hono";
import type { Env } from "../../env.ts";
import { pageFile } from "./page-file.ts";

/** Routes to be mounted at /docs. */
export function docsRoutes(): Hono<{ Bindings: Env }> {
  const routes = new Hono<{ Bindings: Env }>();
  routes.get("/", (context) => pageFile(context, "/docs/index.html"));
  routes.get("/*", (context) => pageFile(context, context.req.path));
  return routes;
}

/** The page on which a person lets the flash command in: `/flash/login?request=<id>`. */
import { Hono } from "hono";
import type { Env } from "../../env.ts";
import { pageFile } from "./page-file.ts";

/** Routes to be mounted at /flash. */
export function loginRoutes(): Hono<{ Bindings: Env }> {
  const routes = new Hono<{ Bindings: Env }>();
  // Without the query: it holds the id that opens the key, and assets have no use for it.
  routes.get("/login", (context) => pageFile(context, "/flash/login.html"));
  routes.get("/login.css", (context) => pageFile(context, context.req.path));
  routes.get("/login.js", (context) => pageFile(context, context.req.path));
  return routes;
}

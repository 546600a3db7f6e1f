/** OpenAI's API on an endpoint: `/v2/<endpointId>/openai/v1/…`, whose workers know the routes. */
import { Hono } from "hono";
import { requireWrite, withEndpoint, type QueueApi } from "../context.ts";
import { counted } from "../limits.ts";
import { serveOpenai } from "./call.ts";
import { renderOpenaiError } from "../../errors.ts";

/** Every route needs write: each is work for a worker. Those that engines have are listed; any other one goes there as well. */
export function openaiRoutes(): Hono<QueueApi> {
  const routes = new Hono<QueueApi>();
  const serve = counted("openai", serveOpenai);
  routes.onError(renderOpenaiError);
  routes.use("/*", withEndpoint, requireWrite);
  routes.post("/v1/chat/completions", serve);
  routes.post("/v1/completions", serve);
  routes.post("/v1/embeddings", serve);
  routes.post("/v1/responses", serve);
  routes.get("/v1/models", serve);
  routes.get("/v1/models/:model", serve);
  routes.all("/*", serve);
  return routes;
}

/** The agent API: `/agent/v1/...`. */
import { Hono } from "hono";
import type { AgentApi } from "./context.ts";
import { withHost } from "./context.ts";
import { exchange } from "./exchange.ts";
import { join } from "./join.ts";
import { takeLogs } from "./logs.ts";
import { sync } from "./sync.ts";
import { uploadResult } from "./upload-result.ts";

export function agentRoutes(): Hono<AgentApi> {
  const routes = new Hono<AgentApi>();
  routes.post("/v1/join", join);
  routes.post("/v1/sync", withHost, sync);
  routes.post("/v1/endpoints/:endpointId/exchange", withHost, exchange);
  routes.put("/v1/endpoints/:endpointId/results/:jobId/:attempt", withHost, uploadResult);
  routes.post("/v1/logs", withHost, takeLogs);
  return routes;
}

/** The agent API, `/agent/v1/…`, and the files that install an agent. */
import { Hono } from "hono";
import { SIGNATURE_SUFFIX } from "../../contract/agent/agent-signature.ts";
import { agentFile, installScript, sendArtifact } from "./files.ts";
import { type AgentApi, withBusyHost, withHost } from "./context.ts";
import { exchange } from "./exchange.ts";
import { describeHost, drainHost, join, leaveFleet } from "./host.ts";
import { openLink, presence } from "./sockets.ts";
import { receiveLogs } from "./logs.ts";
import { sync } from "./sync.ts";
import { uploadResult } from "./upload-result.ts";

export function agentRoutes(): Hono<AgentApi> {
  const routes = new Hono<AgentApi>();
  routes.post("/v1/join", join);
  routes.post("/v1/sync", withHost, sync);
  routes.get("/v1/presence", withHost, presence);
  routes.post("/v1/endpoints/:endpointId/exchange", withBusyHost, exchange);
  routes.get("/v1/endpoints/:endpointId/link", withHost, openLink);
  routes.put("/v1/endpoints/:endpointId/results/:jobId/:attempt", withHost, uploadResult);
  routes.get("/v1/artifacts/:sha256", withHost, sendArtifact);
  routes.get("/v1/host", withHost, describeHost);
  routes.post("/v1/host/drain", withHost, drainHost);
  routes.post("/v1/host/leave", withHost, leaveFleet);
  routes.get("/install.sh", installScript);
  routes.get("/edgerun-agent.mjs", agentFile);
  routes.get("/edgerun-agent.mjs.sha256", agentFile);
  routes.get(`/edgerun-agent.mjs${SIGNATURE_SUFFIX}`, agentFile);
  routes.post("/v1/logs", withHost, receiveLogs);
  return routes;
}

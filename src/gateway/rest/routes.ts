/** The REST side of the management API: `/v1/…`. */
import { Hono } from "hono";
import { ServiceError } from "../../contract/errors.ts";
import { renderRestError } from "../errors.ts";
import { getEndpointBilling, getNoBilling } from "./billing.ts";
import { withAccess, type RestApi } from "./context.ts";
import { getEndpoint, getEndpoints, patchEndpoint, postEndpoint, removeEndpoint } from "./endpoints.ts";
import { deleteHost, getHost, getHosts, patchHost } from "./hosts.ts";
import { getPodLogs, getPods, postPod, refusePod } from "./pods.ts";
import { getRegistryAuth, getRegistryAuths, postRegistryAuth, removeRegistryAuth } from "./registry-auths.ts";
import { getTemplate, getTemplates, patchTemplate, postTemplate, removeTemplate } from "./templates.ts";
import { getVolume, getVolumes, patchVolume, postVolume, removeVolume } from "./volumes.ts";

const POD_ACTIONS = ["update", "start", "stop", "reset", "restart"];
const BILLING = [
  ["endpoints", getEndpointBilling],
  ["pods", getNoBilling],
  ["networkvolumes", getNoBilling],
] as const;

export function restRoutes(): Hono<RestApi> {
  const routes = new Hono<RestApi>();
  routes.onError(renderRestError);
  routes.use(withAccess);

  routes.get("/endpoints", getEndpoints);
  routes.post("/endpoints", postEndpoint);
  routes.get("/endpoints/:endpointId", getEndpoint);
  routes.patch("/endpoints/:endpointId", patchEndpoint);
  routes.post("/endpoints/:endpointId/update", patchEndpoint);
  routes.delete("/endpoints/:endpointId", removeEndpoint);

  routes.get("/templates", getTemplates);
  routes.post("/templates", postTemplate);
  routes.get("/templates/:templateId", getTemplate);
  routes.patch("/templates/:templateId", patchTemplate);
  routes.post("/templates/:templateId/update", patchTemplate);
  routes.delete("/templates/:templateId", removeTemplate);

  routes.get("/networkvolumes", getVolumes);
  routes.post("/networkvolumes", postVolume);
  routes.get("/networkvolumes/:networkVolumeId", getVolume);
  routes.patch("/networkvolumes/:networkVolumeId", patchVolume);
  routes.post("/networkvolumes/:networkVolumeId/update", patchVolume);
  routes.delete("/networkvolumes/:networkVolumeId", removeVolume);

  routes.get("/containerregistryauth", getRegistryAuths);
  routes.post("/containerregistryauth", postRegistryAuth);
  routes.get("/containerregistryauth/:containerRegistryAuthId", getRegistryAuth);
  routes.delete("/containerregistryauth/:containerRegistryAuthId", removeRegistryAuth);

  addHosts(routes);
  addPods(routes);
  addBilling(routes);

  routes.all("*", (context) => {
    const operation = `${context.req.method} ${context.req.path}`;
    throw new ServiceError(
      "not_found",
      `There is no operation ${operation}. See /docs for those that there are.`,
    );
  });
  return routes;
}

function addHosts(routes: Hono<RestApi>): void {
  routes.get("/hosts", getHosts);
  routes.get("/hosts/:hostId", getHost);
  routes.patch("/hosts/:hostId", patchHost);
  routes.delete("/hosts/:hostId", deleteHost);
}

function addPods(routes: Hono<RestApi>): void {
  routes.get("/pods", getPods);
  routes.post("/pods", postPod);
  routes.on(["GET", "PATCH", "DELETE"], "/pods/:podId", refusePod);
  for (const action of POD_ACTIONS) routes.post(`/pods/:podId/${action}`, refusePod);
  routes.get("/pod/:podId/logs", getPodLogs);
}

function addBilling(routes: Hono<RestApi>): void {
  for (const [noun, handler] of BILLING) routes.get(`/billing/${noun}`, handler);
}

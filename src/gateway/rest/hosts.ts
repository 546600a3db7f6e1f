/** Hosts: `/v1/hosts`. */
import * as z from "zod";
import { hostSchema, hostUpdateSchema, type RestHost } from "../../contract/rest/rest-host.ts";
import { writeHostPrice } from "../../domain/costs/host-price.ts";
import { ageOfAgent } from "../../domain/placement/agent-support.ts";
import {
  changeHost,
  listOwnHosts,
  removeHost,
  requireHost,
  type Host,
  hostPatchSchema,
} from "../../management/hosts/hosts.ts";
import { parseInput } from "../../management/input-schemas.ts";
import type { Route } from "../route.ts";
import type { RestApi } from "./context.ts";
import { FIND, restRoute, UPDATE_DETAILS, WRITE } from "./route.ts";

export const hostRoutes: readonly Route<RestApi>[] = [
  restRoute({
    on: "GET /hosts",
    id: "listHosts",
    summary: "List hosts",
    answer: z.array(hostSchema),
    serve: async (request) => (await listOwnHosts(request)).map(toRestHost),
  }),
  restRoute({
    on: "GET /hosts/{hostId}",
    id: "getHost",
    summary: "Get a host",
    answer: hostSchema,
    errors: FIND,
    serve: async (request, { params }) => toRestHost(await requireHost(request, params.hostId)),
  }),
  restRoute({
    on: "PATCH /hosts/{hostId}",
    id: "updateHost",
    summary: "Cordon, drain or price a host, or undo it",
    details: UPDATE_DETAILS,
    body: hostUpdateSchema,
    example: { drained: true },
    answer: hostSchema,
    errors: WRITE,
    serve: async (request, { params, body: { cordoned, drained, price } }) => {
      const patch = parseInput(hostPatchSchema, { id: params.hostId, cordoned, drained, price });
      return toRestHost(await changeHost(request, patch));
    },
  }),
  restRoute({
    on: "DELETE /hosts/{hostId}",
    id: "deleteHost",
    summary: "Remove a host",
    details: "Revokes its token. Its workers are placed elsewhere, and their jobs run again.",
    errors: FIND,
    serve: async (request, { params }) => await removeHost(request, params.hostId),
  }),
];

function toRestHost({ record, seen }: Host): RestHost {
  const { id, name, createdAt, apiKeyId, expiresAt } = record;
  const own = {
    id,
    name,
    createdAt: new Date(createdAt).toISOString(),
    apiKeyId,
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  };
  return { ...own, ...(seen ? toLiveState(seen) : NEVER_SEEN) };
}

type LiveState = Omit<RestHost, "id" | "name" | "createdAt" | "apiKeyId" | "expiresAt">;

/** The state of a host that has not connected yet. */
const NEVER_SEEN: LiveState = {
  dataCenterId: null,
  isPresent: false,
  agentVersion: null,
  isAgentOutdated: false,
  gpus: [],
  workers: 0,
  cordoned: false,
  drained: false,
  price: null,
  lastSeenAt: null,
};

function toLiveState(seen: NonNullable<Host["seen"]>): LiveState {
  const { agentVersion, dataCenterId, isPresent, gpus, workers, lastSeenAt } = seen;
  const hasSpoken = agentVersion !== "";
  return {
    dataCenterId: hasSpoken ? dataCenterId : null,
    isPresent,
    agentVersion: hasSpoken ? agentVersion : null,
    isAgentOutdated: hasSpoken && ageOfAgent(agentVersion) !== "current",
    gpus: gpus.map(({ model, ...rest }) => ({ name: model, ...rest })),
    workers,
    cordoned: seen.isCordoned,
    drained: seen.isDrained,
    price: writeHostPrice(seen.price),
    lastSeenAt: lastSeenAt === null ? null : new Date(lastSeenAt).toISOString(),
  };
}

/** Hosts: `/v1/hosts`. */
import { hostSchema, hostUpdateSchema, type RestHost } from "../../contract/rest/rest-host.ts";
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
import { idOf, type RestContext } from "./context.ts";
import { readInput } from "./input.ts";

export async function getHosts(context: RestContext): Promise<Response> {
  return context.json((await listOwnHosts(context.get("request"))).map(toRestHost));
}

export async function getHost(context: RestContext): Promise<Response> {
  return context.json(toRestHost(await requireHost(context.get("request"), idOf(context, "hostId"))));
}

/** `PATCH /v1/hosts/{id}`: cordons or drains a host, or undoes it. */
export async function patchHost(context: RestContext): Promise<Response> {
  const { cordoned, drained } = await readInput(context, hostUpdateSchema, hostSchema);
  const patch = parseInput(hostPatchSchema, { id: idOf(context, "hostId"), cordoned, drained });
  return context.json(toRestHost(await changeHost(context.get("request"), patch)));
}

export async function deleteHost(context: RestContext): Promise<Response> {
  await removeHost(context.get("request"), idOf(context, "hostId"));
  return context.body(null, 204);
}

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
    lastSeenAt: lastSeenAt === null ? null : new Date(lastSeenAt).toISOString(),
  };
}

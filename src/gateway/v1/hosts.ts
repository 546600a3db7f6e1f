/** Hosts: `/v1/hosts`. */
import { hostUpdateSchema, type RestHost } from "../../contract/rest-host.ts";
import { ageOfAgent } from "../../domain/agent-age.ts";
import { hostPatchSchema } from "../../management/hosts/host-patch.ts";
import {
  changeHost,
  listOwnHosts,
  removeHost,
  requireHost,
  type Host,
} from "../../management/hosts/hosts.ts";
import { parseInput } from "../../management/input.ts";
import { idOf, readInput, type RestContext } from "./context.ts";

export async function getHosts(context: RestContext): Promise<Response> {
  return context.json((await listOwnHosts(context.get("request"))).map(showHost));
}

export async function getHost(context: RestContext): Promise<Response> {
  return context.json(showHost(await requireHost(context.get("request"), hostIdOf(context))));
}

/** `PATCH /v1/hosts/{id}`: cordons or drains, or lifts that. */
export async function patchHost(context: RestContext): Promise<Response> {
  const { cordoned, drained } = await readInput(context, hostUpdateSchema);
  const patch = parseInput(hostPatchSchema, { id: hostIdOf(context), cordoned, drained });
  return context.json(showHost(await changeHost(context.get("request"), patch)));
}

export async function deleteHost(context: RestContext): Promise<Response> {
  await removeHost(context.get("request"), hostIdOf(context));
  return context.body(null, 204);
}

function showHost({ record, seen }: Host): RestHost {
  return {
    id: record.id,
    name: record.name,
    dataCenterId: seen?.agentVersion ? seen.dataCenterId : null,
    isPresent: seen?.isPresent ?? false,
    agentVersion: seen?.agentVersion || null,
    isAgentOutdated: Boolean(seen?.agentVersion) && ageOfAgent(seen?.agentVersion ?? "") !== "current",
    gpus: (seen?.gpus ?? []).map(({ model, tier, total, free }) => ({ name: model, tier, total, free })),
    workers: seen?.workers ?? 0,
    cordoned: seen?.isCordoned ?? false,
    drained: seen?.isDrained ?? false,
    createdAt: new Date(record.createdAt).toISOString(),
    lastSeenAt: seen?.lastSeenAt ? new Date(seen.lastSeenAt).toISOString() : null,
  };
}

function hostIdOf(context: RestContext): string {
  return idOf(context, "hostId");
}

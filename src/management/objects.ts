/** The Durable Objects of the edge, with the types that their classes declare. */
import {
  endpointObjectName,
  fleetObjectName,
  hostObjectName,
  near,
  podObjectName,
} from "../durable/ports.ts";
import type { EndpointObject } from "../endpoint/endpoint-object.ts";
import type { Env } from "../env.ts";
import { logFailure } from "./failure-log.ts";
import type { FleetObject } from "../fleet/fleet-object.ts";
import type { HostObject } from "../host/host-object.ts";
import type { PodObject } from "../pod/pod-object.ts";
import type { RequestContext } from "./context.ts";

/** Endpoint objects that one request of the management API calls at the same time. */
export const ENDPOINT_CALLS_CONCURRENT_MAX = 20;

/** The types that the platform generates for stubs lose unions of replies and what is readonly. */
type StubOf<Class> = Omit<Class, "alarm" | "fetch" | `webSocket${string}`> & Pick<Fetcher, "fetch">;
export type EndpointStub = StubOf<EndpointObject>;
export type FleetStub = StubOf<FleetObject>;
export type PodStub = StubOf<PodObject>;
export type HostStub = StubOf<HostObject>;

/** That of a shard of an endpoint. A new stub for each call: one that has met a failure stays broken. */
export function endpointObject(
  { ENDPOINT }: Pick<Env, "ENDPOINT">,
  endpointId: string,
  shard = 0,
): EndpointStub {
  return ENDPOINT.getByName(endpointObjectName(endpointId, shard)) as unknown as EndpointStub;
}

/** That of an endpoint which may be new: it is created near these places, of its hosts. */
export function endpointObjectNear(
  { ENDPOINT }: Pick<Env, "ENDPOINT">,
  endpointId: string,
  locations: readonly string[],
): EndpointStub {
  return ENDPOINT.getByName(endpointObjectName(endpointId), near(locations)) as unknown as EndpointStub;
}

export function podObject({ POD }: Pick<Env, "POD">, podId: string): PodStub {
  return POD.getByName(podObjectName(podId)) as unknown as PodStub;
}

export function hostObject({ HOST }: Pick<Env, "HOST">, hostId: string): HostStub {
  return HOST.getByName(hostObjectName(hostId)) as unknown as HostStub;
}

/** That of the hosts, workers and pods of an account. `locations`: where it is created if it is new. */
export function fleetObject(
  { FLEET }: Pick<Env, "FLEET">,
  accountId: string,
  locations: readonly string[] = [],
): FleetStub {
  return FLEET.getByName(fleetObjectName(accountId), near(locations)) as unknown as FleetStub;
}

/**
 * Has the account's hosts fetch their assignments again, since a secret or credential has changed. This only saves
 * time: hosts fetch them regularly as well, so a failure is logged and no more.
 */
export async function renewAssignments({ env, principal }: RequestContext): Promise<void> {
  try {
    await fleetObject(env, principal.accountId).renewAssignments(principal.accountId);
  } catch (cause) {
    logFailure("hosts_not_notified", { accountId: principal.accountId }, cause);
  }
}

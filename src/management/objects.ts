/** The Durable Objects of the edge, with the types that their classes declare. */
import { FLEET_NAME, endpointObjectName } from "../durable/ports.ts";
import type { EndpointObject } from "../endpoint/endpoint-object.ts";
import type { Env } from "../env.ts";
import type { FleetObject } from "../fleet/fleet-object.ts";

/** The types that the platform generates for stubs lose unions of replies and what is readonly. */
type StubOf<Class> = Omit<Class, "alarm" | "fetch" | `webSocket${string}`> & Pick<Fetcher, "fetch">;
export type EndpointStub = StubOf<EndpointObject>;
export type FleetStub = StubOf<FleetObject>;

/** A new stub for each call: one that has met a failure stays broken. */
export function endpointObject({ ENDPOINT }: Pick<Env, "ENDPOINT">, endpointId: string): EndpointStub {
  return ENDPOINT.getByName(endpointObjectName(endpointId)) as unknown as EndpointStub;
}

export function fleetObject({ FLEET }: Pick<Env, "FLEET">): FleetStub {
  return FLEET.getByName(FLEET_NAME) as unknown as FleetStub;
}

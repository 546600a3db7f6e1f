import { FLEET_NAME } from "../durable/ports.ts";
import type { Env } from "../env.ts";
import type { FleetObject } from "../fleet/fleet-object.ts";

/** The fleet as its class says; the generated stub types lose what is readonly. */
type FleetStub = Pick<FleetObject, "changeHost" | "hostsOf" | "removeHost" | "stock" | "usage" | "workersOf">;

/** A new stub for each call: one that has met a failure stays broken. */
export function fleetObject(env: Pick<Env, "FLEET">): FleetStub {
  return env.FLEET.getByName(FLEET_NAME) as unknown as FleetStub;
}

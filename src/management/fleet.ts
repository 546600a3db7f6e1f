import { FLEET_NAME } from "../durable/ports.ts";
import type { Env } from "../env.ts";
import type { FleetObject } from "../fleet/fleet-object.ts";
import { logFailure } from "../failure-log.ts";
import type { RequestContext } from "./context.ts";

/** The fleet as its class says; the generated stub types lose what is readonly. */
type FleetStub = Pick<FleetObject, "changeHost" | "hostsOf" | "removeHost" | "stock" | "usage" | "workersOf">;

/** A new stub for each call: one that has met a failure stays broken. */
export function fleetObject(env: Pick<Env, "FLEET">): FleetStub {
  return env.FLEET.getByName(FLEET_NAME) as unknown as FleetStub;
}

/**
 * Has the account's hosts fetch anew what their workers are made of, since a secret or credential has changed.
 * That makes it quick and no more: hosts ask by themselves as well, so a failure is only logged.
 */
export async function renewAssignments({ env, principal }: RequestContext): Promise<void> {
  try {
    await env.FLEET.getByName(FLEET_NAME).renewAssignments(principal.accountId);
  } catch (cause) {
    logFailure("hosts_not_notified", { accountId: principal.accountId }, cause);
  }
}

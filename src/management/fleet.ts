import { FLEET_NAME } from "../durable/ports.ts";
import type { Env } from "../env.ts";
import type { FleetObject } from "../fleet/fleet-object.ts";
import { logFailure } from "../failure-log.ts";
import type { RequestContext } from "./context.ts";

/** The fleet as its class declares it; generated stub types lose `readonly`. */
type FleetStub = Pick<FleetObject, "changeHost" | "hostsOf" | "removeHost" | "stock" | "usage" | "workersOf">;

/** A new stub for each call: one that has met a failure stays broken. */
export function fleetObject(env: Pick<Env, "FLEET">): FleetStub {
  return env.FLEET.getByName(FLEET_NAME) as unknown as FleetStub;
}

/**
 * Has the account's hosts fetch their assignments again, since a secret or credential has changed.
 * This only saves time: hosts fetch them regularly as well, so a failure is logged and no more.
 */
export async function renewAssignments({ env, principal }: RequestContext): Promise<void> {
  try {
    await env.FLEET.getByName(FLEET_NAME).renewAssignments(principal.accountId);
  } catch (cause) {
    logFailure("hosts_not_notified", { accountId: principal.accountId }, cause);
  }
}

import { logFailure } from "../../failure-log.ts";
import type { RequestContext } from "../context.ts";
import { fleetObject } from "../objects.ts";

/**
 * Has the account's hosts fetch anew what their workers are made of, since a secret or credential has changed.
 * That makes it quick and no more: hosts ask by themselves as well, so a failure is only logged.
 */
export async function renewAssignments({ env, principal }: RequestContext): Promise<void> {
  try {
    await fleetObject(env).renewAssignments(principal.accountId);
  } catch (cause) {
    logFailure("hosts_not_notified", { accountId: principal.accountId }, cause);
  }
}

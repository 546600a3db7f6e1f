/** Finding flash environments that endpoints and builds can be added to. */
import { findFlashEnvironment, type FlashEnvironmentRecord } from "../../db/flash/environments.ts";
import type { RequestContext } from "../context.ts";
import { ServiceError } from "../../contract/errors.ts";

/** Finds an environment of the calling account, or refuses. */
export async function requireEnvironment(
  { db, principal }: RequestContext,
  environmentId: string,
): Promise<FlashEnvironmentRecord> {
  const environment = await findFlashEnvironment(db, principal.accountId, environmentId);
  if (environment === undefined) throw environmentNotFound(environmentId, "was not found");
  return environment;
}

/** Finds an environment that takes endpoints and builds, or refuses. */
export async function requireOpenEnvironment(
  context: RequestContext,
  environmentId: string,
): Promise<FlashEnvironmentRecord> {
  const environment = await requireEnvironment(context, environmentId);
  const { state, leaseExpiresAt } = environment;
  if (state === "DELETING") throw environmentNotFound(environmentId, "is being deleted");
  if (leaseExpiresAt !== null && leaseExpiresAt <= context.now) throw leaseLapsed(environmentId);
  return environment;
}

/** The error for a session that was not renewed in time. */
export function leaseLapsed(environmentId: string): ServiceError {
  return environmentNotFound(environmentId, "has ended, since its lease was not renewed in time");
}

function environmentNotFound(environmentId: string, fate: string): ServiceError {
  return new ServiceError(
    "flash_environment_not_found",
    `flashEnvironmentId: flash environment '${environmentId}' ${fate}`,
  );
}

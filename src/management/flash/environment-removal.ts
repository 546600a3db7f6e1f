/** Deleting an environment: first its endpoints, then itself. Cut off anywhere, it is finished by deleting again. */
import { ENDPOINT_CALLS_CONCURRENT_MAX } from "../objects.ts";
import { listEndpointsOfEnvironment, type EndpointRecord } from "../../db/endpoints.ts";
import {
  closeFlashEnvironment,
  deleteFlashEnvironmentIfEmpty,
  type FlashEnvironmentRecord,
} from "../../db/flash/environments.ts";
import { logFailure } from "../failure-log.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { deleteEndpoint } from "../endpoints/endpoints.ts";
import { ServiceError, hasErrorCode } from "../../contract/errors.ts";

/** Nothing can be added to the environment from the moment on in which this begins. */
export async function removeEnvironment(
  context: RequestContext,
  environment: FlashEnvironmentRecord,
): Promise<void> {
  const { db, principal } = context;
  await closeFlashEnvironment(db, authorOf(context), environment.id);
  const endpoints = await listEndpointsOfEnvironment(db, principal.accountId, environment.id);
  for (let from = 0; from < endpoints.length; from += ENDPOINT_CALLS_CONCURRENT_MAX) {
    const some = endpoints.slice(from, from + ENDPOINT_CALLS_CONCURRENT_MAX);
    await Promise.all(some.map(async (endpoint) => await removeEndpoint(context, endpoint)));
  }
  if (await deleteFlashEnvironmentIfEmpty(db, authorOf(context), environment)) return;
  const survivors = await listEndpointsOfEnvironment(db, principal.accountId, environment.id);
  if (survivors.length > 0) throw notDeleted(environment, survivors);
}

/** One that cannot be deleted keeps no other from its end; it is named afterwards. */
async function removeEndpoint(context: RequestContext, { id }: EndpointRecord): Promise<void> {
  await deleteEndpoint(context, id, "with-workers").catch((cause: unknown) => {
    if (hasErrorCode(cause, "endpoint_not_found")) return;
    logFailure("endpoint_not_notified", { endpointId: id }, cause);
  });
}

function notDeleted({ name }: FlashEnvironmentRecord, survivors: readonly EndpointRecord[]): ServiceError {
  const named = survivors.map((endpoint) => `${endpoint.name} (${endpoint.id})`).join(", ");
  return new ServiceError(
    "unavailable",
    `Environment '${name}' is not deleted yet: these endpoints could not be deleted: ${named}. Please try again later: deleting again is safe.`,
  );
}

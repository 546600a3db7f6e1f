/** Credentials of image registries; templates name them, and only hosts that pull an image get to see them. */
import type * as z from "zod";
import { seal, type SealedPlace } from "../../auth/envelope.ts";
import {
  deleteRegistryAuthIfUnused,
  findRegistryAuth,
  insertRegistryAuthWithinQuota,
  listRegistryAuths,
  listUsersOfRegistryAuth,
  updateRegistryAuth,
  type RegistryAuthRecord,
} from "../../db/credentials/registry-auths.ts";
import { listPodsUsing } from "../../db/pods.ts";
import { randomRowId } from "../../db/row-id.ts";
import type { RegistryLogin } from "../../domain/accounts/secret-reference.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { renewAssignments } from "../objects.ts";
import { requireSealingKeys } from "./sealing-keys.ts";
import type { registryAuthCreationSchema, registryAuthUpdateSchema } from "../nouns/registry-auth.ts";
import { ServiceError } from "../../contract/errors.ts";

export type { RegistryAuthRecord };

/** The credentials of the calling account without user names and passwords, the oldest first. */
export async function listOwnRegistryAuths({
  db,
  principal,
}: RequestContext): Promise<readonly RegistryAuthRecord[]> {
  return await listRegistryAuths(db, principal.accountId);
}

/** Throws the error that `createRegistryAuth` would. */
export async function checkRegistryAuthCreation(context: RequestContext): Promise<void> {
  requireSealingKeys(context.env);
  await requireQuota(context, "registryAuth");
}

export async function createRegistryAuth(
  context: RequestContext,
  { name, username, password }: z.output<typeof registryAuthCreationSchema>,
): Promise<RegistryAuthRecord> {
  const id = randomRowId();
  const sealedCredentials = await sealLogin(context, id, { username, password });
  return await retryOnConflict(async () => {
    await requireQuota(context, "registryAuth");
    return await insertRegistryAuthWithinQuota(context.db, authorOf(context), {
      id,
      name,
      sealedCredentials,
    });
  });
}

/** The next pull uses the new login; one that was refused is tried again at once. */
export async function changeRegistryAuth(
  context: RequestContext,
  { id, username, password }: z.output<typeof registryAuthUpdateSchema>,
): Promise<RegistryAuthRecord> {
  const read = await requireRegistryAuth(context, id, "id");
  const sealedCredentials = await sealLogin(context, id, { username, password });
  const updated = await updateRegistryAuth(context.db, authorOf(context), read, sealedCredentials);
  if (updated === undefined) throw notFound(id, "id");
  await renewAssignments(context);
  return updated;
}

export async function deleteRegistryAuth(context: RequestContext, id: string): Promise<void> {
  await retryOnConflict(async () => {
    const read = await requireRegistryAuth(context, id, "registryAuthId");
    if (await deleteRegistryAuthIfUnused(context.db, authorOf(context), read)) return read;
    await refuseUsed(context, read);
    return undefined;
  });
}

async function refuseUsed(
  { db, principal }: RequestContext,
  { id, name }: RegistryAuthRecord,
): Promise<void> {
  const pods = await listPodsUsing(db, principal.accountId, { containerRegistryAuthId: id });
  if (pods.length > 0) {
    throw new ServiceError(
      "registry_auth_in_use",
      `registryAuthId: registry credential '${name}' is in use by pod ${pods.join(", ")}: terminate the pod or give it another credential first.`,
    );
  }
  const users = await listUsersOfRegistryAuth(db, principal.accountId, id);
  if (users.length === 0) return;
  const named = users.map(({ templateName, endpointId }) =>
    endpointId === null ? `template '${templateName}'` : `endpoint ${endpointId}`,
  );
  throw new ServiceError(
    "registry_auth_in_use",
    `registryAuthId: registry credential '${name}' is in use by ${named.join(", ")}: delete that or give it another credential first.`,
  );
}

/** Finds a credential of the calling account, or throws an error for the field that names it. */
export async function requireRegistryAuth(
  context: RequestContext,
  id: string,
  field: string,
): Promise<RegistryAuthRecord> {
  const found = await findRegistryAuth(context.db, context.principal.accountId, id);
  if (found === undefined) throw notFound(id, field);
  return found;
}

async function sealLogin(context: RequestContext, rowId: string, login: RegistryLogin): Promise<string> {
  const place: SealedPlace = { accountId: context.principal.accountId, kind: "registry_auth", rowId };
  return await seal(requireSealingKeys(context.env), place, JSON.stringify(login));
}

function notFound(id: string, field: string): ServiceError {
  return new ServiceError(
    "registry_auth_not_found",
    `${field}: registry credential '${id}' was not found; check the id`,
  );
}

/** Credentials of image registries; templates name them, and only hosts that pull an image get to see them. */
import * as z from "zod";
import { seal, type SealedPlace } from "../../auth/envelope.ts";
import {
  deleteRegistryAuthIfUnused,
  findRegistryAuth,
  insertRegistryAuthWithinQuota,
  listRegistryAuths,
  listTemplatesOfRegistryAuth,
  updateRegistryAuth,
  type RegistryAuthRecord,
} from "../../db/credentials/registry-auths.ts";
import { randomRowId } from "../../db/row-id.ts";
import type { RegistryLogin } from "../../domain/accounts/secret-reference.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { renewAssignments } from "../objects.ts";
import { requireSealingKeys } from "./sealing-keys.ts";
import { nameSchema, stringSchema } from "../input-schemas.ts";
import { ServiceError } from "../../contract/errors.ts";

const REGISTRY_USERNAME_MAX_CHARACTERS = 255;
/** Some registries take a whole key file for a password. */
const REGISTRY_PASSWORD_MAX_BYTES = 16 * 1024;

const idSchema = stringSchema.min(1, "must not be empty");

const loginSchema = z.object({
  username: z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(REGISTRY_USERNAME_MAX_CHARACTERS, `must have at most ${REGISTRY_USERNAME_MAX_CHARACTERS} characters`)
    .refine((username) => !username.includes(":"), { error: "must not contain ':'" }),
  password: z
    .string("must be a string")
    .min(1, "must not be empty")
    .refine((password) => new TextEncoder().encode(password).length <= REGISTRY_PASSWORD_MAX_BYTES, {
      error: `must have at most ${REGISTRY_PASSWORD_MAX_BYTES} bytes (UTF-8)`,
    }),
});

export const registryAuthCreationSchema = loginSchema.extend({ name: nameSchema });
/** Both members are required: they are sealed as one. */
export const registryAuthUpdateSchema = loginSchema.extend({ id: idSchema });
export const registryAuthDeletionSchema = z.object({ registryAuthId: idSchema });

/** The credentials of the calling account without user names and passwords, the oldest first. */
export async function listOwnRegistryAuths({
  db,
  principal,
}: RequestContext): Promise<readonly RegistryAuthRecord[]> {
  return await listRegistryAuths(db, principal.accountId);
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
  const users = await listTemplatesOfRegistryAuth(db, principal.accountId, id);
  if (users.length === 0) return;
  const names = users.map((user) => `'${user}'`).join(", ");
  throw new ServiceError(
    "registry_auth_in_use",
    `registryAuthId: registry credential '${name}' is in use by template ${names}: delete the template or give it another credential first.`,
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
    `${field}: registry credential '${id}' was not found; myself { containerRegistryCreds { id name } } lists yours`,
  );
}

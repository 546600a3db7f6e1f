/** Credentials with which hosts pull private images. */
import {
  findRegistryAuth,
  insertRegistryAuth,
  listRegistryAuthsOf,
  removeRegistryAuth,
  type RegistryAuthRecord,
} from "../../db/registry-auths.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { OperationError } from "../operation-error.ts";

export type RegistryAuthInput = {
  readonly name: string;
  readonly username: string;
  readonly password: string;
};

export async function listRegistryAuths(context: RequestContext): Promise<readonly RegistryAuthRecord[]> {
  return await listRegistryAuthsOf(context.db, context.principal.accountId);
}

export async function requireRegistryAuth(
  context: RequestContext,
  registryAuthId: string,
): Promise<RegistryAuthRecord> {
  const found = await findRegistryAuth(context.db, context.principal.accountId, registryAuthId);
  if (found === undefined) {
    throw new OperationError(
      "REGISTRY_AUTH_NOT_FOUND",
      `id: registry credentials '${registryAuthId}' were not found`,
    );
  }
  return found;
}

/** The credentials are dropped until they can be sealed. */
export async function createRegistryAuth(
  context: RequestContext,
  { name }: RegistryAuthInput,
): Promise<RegistryAuthRecord> {
  return await insertRegistryAuth(context.db, authorOf(context), { name, sealedCredentials: "" });
}

export async function deleteRegistryAuth(context: RequestContext, registryAuthId: string): Promise<void> {
  const read = await requireRegistryAuth(context, registryAuthId);
  await removeRegistryAuth(context.db, authorOf(context), read);
}

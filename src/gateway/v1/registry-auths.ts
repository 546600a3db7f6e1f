/** Registry credentials: `/v1/containerregistryauth`. */
import {
  registryAuthCreateSchema,
  registryAuthSchema,
  type RestRegistryAuth,
} from "../../contract/rest-storage.ts";
import { listRegistryAuths } from "../../db/registry-auths.ts";
import {
  createRegistryAuth,
  deleteRegistryAuth,
  registryAuthCreationSchema,
  requireRegistryAuth,
} from "../../management/registry/registry-auth-storage.ts";
import { parseInput } from "../../management/input.ts";
import { idOf, readInput, type RestContext } from "./context.ts";

export async function getRegistryAuths(context: RestContext): Promise<Response> {
  const { db, principal } = context.get("request");
  return context.json((await listRegistryAuths(db, principal.accountId)).map(showRegistryAuth));
}

export async function getRegistryAuth(context: RestContext): Promise<Response> {
  const found = await requireRegistryAuth(context.get("request"), registryAuthIdOf(context), "id");
  return context.json(showRegistryAuth(found));
}

export async function postRegistryAuth(context: RestContext): Promise<Response> {
  const input = parseInput(
    registryAuthCreationSchema,
    await readInput(context, registryAuthCreateSchema, registryAuthSchema),
  );
  return context.json(showRegistryAuth(await createRegistryAuth(context.get("request"), input)));
}

export async function removeRegistryAuth(context: RestContext): Promise<Response> {
  await deleteRegistryAuth(context.get("request"), registryAuthIdOf(context));
  return context.body(null, 204);
}

function showRegistryAuth({ id, name }: { readonly id: string; readonly name: string }): RestRegistryAuth {
  return { id, name };
}

function registryAuthIdOf(context: RestContext): string {
  return idOf(context, "containerRegistryAuthId");
}

/** Registry credentials: `/v1/containerregistryauth`. */
import {
  registryAuthCreateSchema,
  registryAuthSchema,
  type RestRegistryAuth,
} from "../../contract/rest/rest-storage.ts";
import {
  createRegistryAuth,
  deleteRegistryAuth,
  listOwnRegistryAuths,
  registryAuthCreationSchema,
  requireRegistryAuth,
} from "../../management/secrets/registry-auths.ts";
import { parseInput } from "../../management/input-schemas.ts";
import { idOf, type RestContext } from "./context.ts";
import { readInput } from "./input.ts";

export async function getRegistryAuths(context: RestContext): Promise<Response> {
  return context.json((await listOwnRegistryAuths(context.get("request"))).map(toRestRegistryAuth));
}

export async function getRegistryAuth(context: RestContext): Promise<Response> {
  const found = await requireRegistryAuth(
    context.get("request"),
    idOf(context, "containerRegistryAuthId"),
    "id",
  );
  return context.json(toRestRegistryAuth(found));
}

export async function postRegistryAuth(context: RestContext): Promise<Response> {
  const input = parseInput(
    registryAuthCreationSchema,
    await readInput(context, registryAuthCreateSchema, registryAuthSchema),
  );
  return context.json(toRestRegistryAuth(await createRegistryAuth(context.get("request"), input)));
}

export async function removeRegistryAuth(context: RestContext): Promise<Response> {
  await deleteRegistryAuth(context.get("request"), idOf(context, "containerRegistryAuthId"));
  return context.body(null, 204);
}

function toRestRegistryAuth({ id, name }: { readonly id: string; readonly name: string }): RestRegistryAuth {
  return { id, name };
}

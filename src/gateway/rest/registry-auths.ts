/** Registry credentials: `/v1/containerregistryauth`. */
import * as z from "zod";
import {
  createRegistryAuth,
  deleteRegistryAuth,
  listOwnRegistryAuths,
  requireRegistryAuth,
  type RegistryAuthRecord,
} from "../../management/secrets/registry-auths.ts";
import { parseInput } from "../../management/input-schemas.ts";
import { toRest } from "../../management/nouns/field.ts";
import {
  registryAuthCreateSchema,
  registryAuthCreationSchema,
  registryAuthFields,
  registryAuthSchema,
} from "../../management/nouns/registry-auth.ts";
import type { Route } from "../route.ts";
import type { RestApi } from "./context.ts";
import { FIND, REMOVE, restRoute, WRITE } from "./route.ts";

export const registryAuthRoutes: readonly Route<RestApi>[] = [
  restRoute({
    on: "GET /containerregistryauth",
    id: "listContainerRegistryAuths",
    summary: "List registry credentials",
    answer: z.array(registryAuthSchema),
    serve: async (request) => (await listOwnRegistryAuths(request)).map(toRestRegistryAuth),
  }),
  restRoute({
    on: "POST /containerregistryauth",
    id: "createContainerRegistryAuth",
    summary: "Create registry credentials",
    body: registryAuthCreateSchema,
    example: { name: "ghcr", username: "acme", password: "secret" },
    answer: registryAuthSchema,
    errors: WRITE,
    serve: async (request, { body }) =>
      toRestRegistryAuth(await createRegistryAuth(request, parseInput(registryAuthCreationSchema, body))),
  }),
  restRoute({
    on: "GET /containerregistryauth/{containerRegistryAuthId}",
    id: "getContainerRegistryAuth",
    summary: "Get registry credentials",
    answer: registryAuthSchema,
    errors: FIND,
    serve: async (request, { params }) =>
      toRestRegistryAuth(await requireRegistryAuth(request, params.containerRegistryAuthId, "id")),
  }),
  restRoute({
    on: "DELETE /containerregistryauth/{containerRegistryAuthId}",
    id: "deleteContainerRegistryAuth",
    summary: "Delete registry credentials",
    details: "Refused while a template uses them.",
    errors: REMOVE,
    serve: async (request, { params }) => await deleteRegistryAuth(request, params.containerRegistryAuthId),
  }),
];

function toRestRegistryAuth(registryAuth: RegistryAuthRecord): z.input<typeof registryAuthSchema> {
  return { id: registryAuth.id, ...toRest(registryAuthFields, registryAuth) };
}

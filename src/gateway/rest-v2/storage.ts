/** Network volumes and registry credentials: `/v2/network-volumes` and `/v2/registries`. */
import * as z from "zod";
import { ServiceError } from "../../contract/errors.ts";
import { oneOf } from "../../management/input-schemas.ts";
import {
  changeVolume,
  createVolume,
  deleteVolume,
  listVolumes,
  requireVolume,
} from "../../management/endpoints/volumes.ts";
import {
  fromNested,
  nestedInput,
  nestedNames,
  nestedOutput,
  toNested,
} from "../../management/nouns/field.ts";
import { registryAuthCreationSchema, registryAuthFields } from "../../management/nouns/registry-auth.ts";
import { volumeCreationSchema, volumeFields, volumePatchSchema } from "../../management/nouns/volume.ts";
import {
  createRegistryAuth,
  deleteRegistryAuth,
  listOwnRegistryAuths,
  requireRegistryAuth,
} from "../../management/secrets/registry-auths.ts";
import { nest, nestedAnswer, nestedBody } from "./nesting.ts";
import { pageOf, pageQuerySchema, pageSchema } from "./page.ts";
import { parsePatch, withPlaces } from "../rest/patch.ts";
import { FIND, REMOVE, v2Route, WRITE } from "./route.ts";

/** Hosts offer one kind of storage. */
const TYPE = "STANDARD";

const volumeSchema = nestedAnswer({
  id: z.string().meta({ example: "agv6w2qcg7ldkm" }),
  ...nestedOutput(volumeFields),
  type: z.enum([TYPE]),
}).meta({ id: "Volume" });

const creationSchema = nestedBody({
  ...nestedInput(volumeFields, "creation"),
  type: oneOf([TYPE, "HIGH_PERFORMANCE"])
    .optional()
    .meta({
      description: `${TYPE}, the only kind that there is; HIGH_PERFORMANCE is answered with 501.`,
    }),
}).meta({ id: "CreateVolumeInput" });

const updateSchema = nestedBody(nestedInput(volumeFields, "update"))
  .refine((body) => Object.keys(body).length > 0, "must have name or size")
  .meta({ id: "UpdateVolumeInput", minProperties: 1 });

const places = nestedNames(volumeFields);

function showVolume(volume: Awaited<ReturnType<typeof requireVolume>>) {
  return nest({ id: volume.id, ...toNested(volumeFields, volume), type: TYPE });
}

export const volumeRoutes = [
  v2Route({
    on: "GET /network-volumes",
    id: "listVolumes",
    summary: "List network volumes",
    query: pageQuerySchema,
    errors: [400, 422],
    answer: pageSchema("networkVolumes", volumeSchema),
    serve: async (request, { query }) => {
      const { entries, pagination } = pageOf(await listVolumes(request), query);
      return { networkVolumes: entries.map(showVolume), pagination };
    },
  }),
  v2Route({
    on: "POST /network-volumes",
    id: "createVolume",
    summary: "Create a network volume",
    errors: [...WRITE, 501],
    body: creationSchema,
    example: { name: "models", size: 50, dataCenter: "EU-RO-1" },
    answer: volumeSchema,
    serve: async (request, { body }) =>
      await withPlaces(places, async () => {
        if (body["type"] === "HIGH_PERFORMANCE") {
          throw new ServiceError("not_implemented", `type: hosts offer one kind of storage, ${TYPE}`);
        }
        const sent = fromNested(volumeFields, body, "creation");
        return showVolume(await createVolume(request, parsePatch(volumeCreationSchema, sent, places)));
      }),
  }),
  v2Route({
    on: "GET /network-volumes/{id}",
    id: "getVolume",
    summary: "Get a network volume",
    errors: FIND,
    answer: volumeSchema,
    serve: async (request, { params }) => showVolume(await requireVolume(request, params.id)),
  }),
  v2Route({
    on: "PATCH /network-volumes/{id}",
    id: "updateVolume",
    summary: "Rename a network volume or make it larger",
    errors: WRITE,
    body: updateSchema,
    example: { size: 100 },
    answer: volumeSchema,
    serve: async (request, { params, body }) => {
      const sent = fromNested(volumeFields, body, "update");
      return showVolume(await changeVolume(request, params.id, parsePatch(volumePatchSchema, sent, places)));
    },
  }),
  v2Route({
    on: "DELETE /network-volumes/{id}",
    id: "deleteVolume",
    summary: "Delete a network volume",
    details: "Refused while an endpoint uses it.",
    errors: REMOVE,
    serve: async (request, { params }) => await deleteVolume(request, params.id),
  }),
];

const registrySchema = nestedAnswer({ id: z.string(), ...nestedOutput(registryAuthFields) }).meta({
  id: "Registry",
});
const registryCreationSchema = nestedBody(nestedInput(registryAuthFields, "creation")).meta({
  id: "CreateRegistryInput",
});

function showRegistry({ id, name }: { readonly id: string; readonly name: string }) {
  return { id, name };
}

export const registryRoutes = [
  v2Route({
    on: "GET /registries",
    id: "listRegistries",
    summary: "List registry credentials",
    query: pageQuerySchema,
    errors: [400, 422],
    answer: pageSchema("registries", registrySchema),
    serve: async (request, { query }) => {
      const { entries, pagination } = pageOf(await listOwnRegistryAuths(request), query);
      return { registries: entries.map(showRegistry), pagination };
    },
  }),
  v2Route({
    on: "POST /registries",
    id: "createRegistry",
    summary: "Create a registry credential",
    errors: WRITE,
    body: registryCreationSchema,
    example: { name: "ghcr", username: "acme", password: "secret" },
    answer: registrySchema,
    serve: async (request, { body }) =>
      showRegistry(await createRegistryAuth(request, parsePatch(registryAuthCreationSchema, body))),
  }),
  v2Route({
    on: "GET /registries/{id}",
    id: "getRegistry",
    summary: "Get a registry credential",
    errors: FIND,
    answer: registrySchema,
    serve: async (request, { params }) => showRegistry(await requireRegistryAuth(request, params.id, "id")),
  }),
  v2Route({
    on: "DELETE /registries/{id}",
    id: "deleteRegistry",
    summary: "Delete a registry credential",
    details: "Refused while a template uses it.",
    errors: REMOVE,
    serve: async (request, { params }) =>
      await withPlaces({ registryAuthId: "id" }, async () => deleteRegistryAuth(request, params.id)),
  }),
];

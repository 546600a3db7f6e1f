/** Network volumes and registry credentials: `/v2/network-volumes` and `/v2/registries`. */
import * as z from "zod";
import { DATA_CENTERS } from "../../catalog/data-centers.ts";
import { NETWORK_VOLUME_MAX_GB } from "../../contract/rest/rest-storage.ts";
import {
  changeVolume,
  createVolume,
  deleteVolume,
  listVolumes,
  requireVolume,
} from "../../management/endpoints/volumes.ts";
import { nameSchema, oneOf, parseInput, wholeNumber } from "../../management/input-schemas.ts";
import {
  createRegistryAuth,
  deleteRegistryAuth,
  listOwnRegistryAuths,
  registryAuthCreationSchema,
  requireRegistryAuth,
} from "../../management/secrets/registry-auths.ts";
import { pageOf, pageQuerySchema, pageSchema } from "./page.ts";
import { withPlaces } from "./patch.ts";
import { CHANGE, CREATE, FIND, REMOVE, v2Route } from "./route.ts";

const sizeSchema = wholeNumber(1, NETWORK_VOLUME_MAX_GB).meta({ description: "GB. Can grow, never shrink." });
const volumeSchema = z
  .object({
    id: z.string().meta({ example: "agv6w2qcg7ldkm" }),
    name: z.string(),
    size: z.int(),
    dataCenter: z.string(),
    type: z.enum(["STANDARD"]),
  })
  .meta({ id: "Volume" });

const volumeCreationSchema = z
  .strictObject({
    name: nameSchema,
    size: sizeSchema,
    dataCenter: oneOf(DATA_CENTERS.map(({ id }) => id)),
    type: z
      .literal("STANDARD", "must be STANDARD: hosts offer one kind of storage")
      .optional()
      .meta({ description: "STANDARD, the only kind that there is." }),
  })
  .meta({ id: "CreateVolumeInput" });

const volumeUpdateSchema = z
  .strictObject({ name: nameSchema.optional(), size: sizeSchema.optional() })
  .refine(({ name, size }) => name !== undefined || size !== undefined, "must have name or size")
  .meta({ id: "UpdateVolumeInput" });

type Volume = Awaited<ReturnType<typeof requireVolume>>;

function showVolume({ id, name, sizeGb, dataCenterId }: Volume) {
  return { id, name, size: sizeGb, dataCenter: dataCenterId, type: "STANDARD" };
}

const places = { dataCenterId: "dataCenter" };

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
    errors: CREATE,
    body: volumeCreationSchema,
    example: { name: "models", size: 50, dataCenter: "EU-RO-1" },
    answer: volumeSchema,
    serve: async (request, { body: { name, size, dataCenter } }) =>
      await withPlaces(places, async () =>
        showVolume(await createVolume(request, { name, size, dataCenterId: dataCenter })),
      ),
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
    errors: CHANGE,
    body: volumeUpdateSchema,
    example: { size: 100 },
    answer: volumeSchema,
    serve: async (request, { params, body }) => showVolume(await changeVolume(request, params.id, body)),
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

const registrySchema = z.object({ id: z.string(), name: z.string() }).meta({ id: "Registry" });
const registryCreationSchema = z
  .strictObject({
    name: nameSchema.meta({ example: "ghcr" }),
    username: z.string().min(1),
    password: z.string().min(1).meta({ description: "Never shown again.", format: "password" }),
  })
  .meta({ id: "CreateRegistryInput" });

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
    errors: CREATE,
    body: registryCreationSchema,
    example: { name: "ghcr", username: "acme", password: "secret" },
    answer: registrySchema,
    serve: async (request, { body }) =>
      showRegistry(await createRegistryAuth(request, parseInput(registryAuthCreationSchema, body))),
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
    serve: async (request, { params }) => await deleteRegistryAuth(request, params.id),
  }),
];

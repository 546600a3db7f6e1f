/** Network volumes: `/v1/networkvolumes`. */
import * as z from "zod";
import {
  changeVolume,
  createVolume,
  deleteVolume,
  listVolumes,
  requireVolume,
  type NetworkVolumeRecord,
} from "../../management/endpoints/volumes.ts";
import { fromRest, toRest } from "../../management/nouns/field.ts";
import {
  changeableVolumeFields,
  volumeCreateSchema,
  volumeCreationSchema,
  volumeFields,
  volumePatchSchema,
  volumeSchema,
  volumeUpdateSchema,
} from "../../management/nouns/volume.ts";
import { withPost, type Route } from "../route.ts";
import type { RestApi } from "./context.ts";
import { parsePatch } from "./patch.ts";
import { FIND, REMOVE, restRoute, UPDATE_DETAILS, WRITE } from "./route.ts";

/** `PATCH /v1/networkvolumes/{id}` and `POST /v1/networkvolumes/{id}/update`. */
const update = restRoute({
  on: "PATCH /networkvolumes/{networkVolumeId}",
  id: "updateNetworkVolume",
  summary: "Change a network volume",
  details: UPDATE_DETAILS,
  body: volumeUpdateSchema,
  example: {},
  answer: volumeSchema,
  errors: WRITE,
  serve: async (request, { params, body }) => {
    const patch = parsePatch(volumePatchSchema, fromRest(changeableVolumeFields, body, "update"));
    return toRestVolume(await changeVolume(request, params.networkVolumeId, patch));
  },
});

export const volumeRoutes: readonly Route<RestApi>[] = [
  restRoute({
    on: "GET /networkvolumes",
    id: "listNetworkVolumes",
    summary: "List network volumes",
    answer: z.array(volumeSchema),
    serve: async (request) => (await listVolumes(request)).map(toRestVolume),
  }),
  restRoute({
    on: "POST /networkvolumes",
    id: "createNetworkVolume",
    summary: "Create a network volume",
    body: volumeCreateSchema,
    example: { name: "models", size: 50, dataCenterId: "EU-RO-1" },
    answer: volumeSchema,
    errors: WRITE,
    serve: async (request, { body }) => {
      const values = parsePatch(volumeCreationSchema, fromRest(volumeFields, body, "creation"));
      return toRestVolume(await createVolume(request, values));
    },
  }),
  restRoute({
    on: "GET /networkvolumes/{networkVolumeId}",
    id: "getNetworkVolume",
    summary: "Get a network volume",
    answer: volumeSchema,
    errors: FIND,
    serve: async (request, { params }) => toRestVolume(await requireVolume(request, params.networkVolumeId)),
  }),
  ...withPost(update, "/update"),
  restRoute({
    on: "DELETE /networkvolumes/{networkVolumeId}",
    id: "deleteNetworkVolume",
    summary: "Delete a network volume",
    details: "Refused while an endpoint uses it.",
    errors: REMOVE,
    serve: async (request, { params }) => await deleteVolume(request, params.networkVolumeId),
  }),
];

function toRestVolume(volume: NetworkVolumeRecord): z.input<typeof volumeSchema> {
  return { id: volume.id, ...toRest(volumeFields, volume) };
}

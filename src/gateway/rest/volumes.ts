/** Network volumes: `/v1/networkvolumes`. */
import * as z from "zod";
import {
  volumeCreateSchema,
  volumeSchema,
  volumeUpdateSchema,
  type RestVolume,
} from "../../contract/rest/rest-storage.ts";
import {
  changeVolume,
  createVolume,
  deleteVolume,
  listVolumes,
  requireVolume,
} from "../../management/endpoints/volumes.ts";
import { withPost, type Route } from "../route.ts";
import type { RestApi } from "./context.ts";
import { FIND, REMOVE, restRoute, UPDATE_DETAILS, WRITE } from "./route.ts";

const tag = "Network volumes";

/** `PATCH /v1/networkvolumes/{id}` and `POST /v1/networkvolumes/{id}/update`. */
const update = restRoute({
  method: "PATCH",
  path: "/networkvolumes/{networkVolumeId}",
  id: "updateNetworkVolume",
  tag,
  summary: "Change a network volume",
  details: UPDATE_DETAILS,
  body: volumeUpdateSchema,
  example: {},
  answer: volumeSchema,
  errors: WRITE,
  serve: async (request, { params, body }) => {
    const patch = { name: body.name ?? undefined, size: body.size ?? undefined };
    return toRestVolume(await changeVolume(request, params.networkVolumeId, patch));
  },
});

export const volumeRoutes: readonly Route<RestApi>[] = [
  restRoute({
    method: "GET",
    path: "/networkvolumes",
    id: "listNetworkVolumes",
    tag,
    summary: "List network volumes",
    answer: z.array(volumeSchema),
    serve: async (request) => (await listVolumes(request)).map(toRestVolume),
  }),
  restRoute({
    method: "POST",
    path: "/networkvolumes",
    id: "createNetworkVolume",
    tag,
    summary: "Create a network volume",
    body: volumeCreateSchema,
    example: { name: "models", size: 50, dataCenterId: "EU-RO-1" },
    answer: volumeSchema,
    errors: WRITE,
    serve: async (request, { body }) => toRestVolume(await createVolume(request, body)),
  }),
  restRoute({
    method: "GET",
    path: "/networkvolumes/{networkVolumeId}",
    id: "getNetworkVolume",
    tag,
    summary: "Get a network volume",
    answer: volumeSchema,
    errors: FIND,
    serve: async (request, { params }) => toRestVolume(await requireVolume(request, params.networkVolumeId)),
  }),
  ...withPost(update, "/networkvolumes/{networkVolumeId}/update"),
  restRoute({
    method: "DELETE",
    path: "/networkvolumes/{networkVolumeId}",
    id: "deleteNetworkVolume",
    tag,
    summary: "Delete a network volume",
    details: "Refused while an endpoint uses it.",
    errors: REMOVE,
    serve: async (request, { params }) => await deleteVolume(request, params.networkVolumeId),
  }),
];

type Volume = Awaited<ReturnType<typeof requireVolume>>;

function toRestVolume({ id, name, sizeGb, dataCenterId }: Volume): RestVolume {
  return { id, name, size: sizeGb, dataCenterId };
}

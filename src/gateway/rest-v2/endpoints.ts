/**
 * Endpoints: `/v2/serverless`. An endpoint carries the settings of its container itself: they are stored as a template
 * of its own, into which those of a named template are copied.
 */
import * as z from "zod";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  listOwnEndpoints,
  requireEndpoint,
} from "../../management/endpoints/endpoints.ts";
import { rollbackEndpoint } from "../../management/endpoints/rollback.ts";
import {
  creationPatch,
  creationSchema,
  endpointPlaces,
  updatePatch,
  updateSchema,
} from "./endpoint-bodies.ts";
import { endpointSchema, showAll, showOne } from "./endpoint-view.ts";
import { pageOf, pageQuerySchema, pageSchema } from "./page.ts";
import { withPlaces } from "../rest/patch.ts";
import { FIND, REMOVE, v2Route, WRITE } from "./route.ts";

export const endpointRoutes = [
  v2Route({
    on: "GET /serverless",
    id: "listServerless",
    summary: "List endpoints",
    query: pageQuerySchema,
    errors: [400, 422],
    answer: pageSchema("endpoints", endpointSchema),
    serve: async (request, { query }) => {
      const page = pageOf(await listOwnEndpoints(request), query);
      return { endpoints: await showAll(request, page.entries), pagination: page.pagination };
    },
  }),
  v2Route({
    on: "POST /serverless",
    id: "createServerless",
    summary: "Create an endpoint",
    details: "Either gpu or cpu, and an image or a templateId.",
    errors: WRITE,
    body: creationSchema,
    example: {
      name: "sdxl",
      type: "QUEUE",
      image: "ghcr.io/acme/worker:1.4",
      gpu: { pools: ["ADA_24"] },
      workers: { max: 3 },
      scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
    },
    answer: endpointSchema,
    serve: async (request, { body }) =>
      await withPlaces(endpointPlaces, async () => {
        const patch = await creationPatch(request, body);
        return await showOne(request, await createEndpoint(request, patch));
      }),
  }),
  v2Route({
    on: "GET /serverless/{id}",
    id: "getServerless",
    summary: "Get an endpoint",
    errors: FIND,
    answer: endpointSchema,
    serve: async (request, { params }) => await showOne(request, await requireEndpoint(request, params.id)),
  }),
  v2Route({
    on: "PATCH /serverless/{id}",
    id: "updateServerless",
    summary: "Change an endpoint",
    details: "Omitted fields are left unchanged.",
    errors: WRITE,
    body: updateSchema,
    example: { workers: { max: 5 } },
    answer: endpointSchema,
    serve: async (request, { params, body }) =>
      await withPlaces(endpointPlaces, async () => {
        const patch = await updatePatch(request, await requireEndpoint(request, params.id), body);
        const changed = await changeEndpoint(request, params.id, patch, { keepsContainer: true });
        return await showOne(request, changed);
      }),
  }),
  v2Route({
    on: "POST /serverless/{id}/rollback",
    id: "rollbackServerless",
    summary: "Go back to an earlier version",
    details:
      "Makes a new version of the settings of an earlier one, whose workers replace the present ones. Limits, scaler and timeouts stay.",
    errors: WRITE,
    body: z.strictObject({
      version: z
        .int()
        .min(1)
        .optional()
        .meta({ description: "One of the last ten; by default the one before the present version." }),
    }),
    example: { version: 6 },
    status: 200,
    answer: endpointSchema,
    serve: async (request, { params, body }) =>
      await showOne(request, await rollbackEndpoint(request, { endpointId: params.id, ...body })),
  }),
  v2Route({
    on: "DELETE /serverless/{id}",
    id: "deleteServerless",
    summary: "Delete an endpoint",
    details: "Its workers are drained and its jobs cancelled.",
    errors: REMOVE,
    serve: async (request, { params }) => await deleteEndpoint(request, params.id, "with-workers"),
  }),
];

/**
 * What this version does not have. Lists are empty; all else is 501, never 404, which clients take for "was deleted".
 */
import * as z from "zod";
import { ServiceError } from "../../contract/errors.ts";
import { requireEndpoint } from "../../management/endpoints/endpoints.ts";
import type { OnRequest } from "../route.ts";
import { pageQuerySchema, pageSchema } from "./page.ts";
import { v2Route } from "./route.ts";

const BUILDS = "Builds from GitHub are not offered: build the image yourself and name it in the endpoint.";
const DELEGATIONS =
  "Delegated access to Amazon's registry is not offered. Create a registry credential at POST /v2/registries instead.";
const GLOBAL_VOLUMES =
  "Global volumes are not offered. Create a network volume at POST /v2/network-volumes instead.";

const NO_PAGE = { hasNextPage: false, nextCursor: null };

function absent(reason: string, on: OnRequest, id: string, summary: string) {
  return v2Route({
    on,
    id,
    summary: `${summary}: not offered`,
    errors: [501],
    query: z.looseObject({}),
    serve: () => {
      throw new ServiceError("not_implemented", reason);
    },
  });
}

function emptyList(on: OnRequest, member: string, id: string, summary: string, query = pageQuerySchema) {
  return v2Route({
    on,
    id,
    summary: `${summary}: there are none`,
    errors: [400, 422],
    query,
    answer: pageSchema(member, z.unknown()),
    serve: () => ({ [member]: [], pagination: NO_PAGE }),
  });
}

export const buildRoutes = [
  v2Route({
    on: "GET /serverless/{id}/builds",
    id: "listBuilds",
    summary: "List builds from GitHub: there are none",
    errors: [400, 404],
    query: pageQuerySchema,
    answer: pageSchema("builds", z.unknown()),
    serve: async (request, { params }) => {
      await requireEndpoint(request, params.id);
      return { builds: [], pagination: NO_PAGE };
    },
  }),
  absent(BUILDS, "GET /serverless/{id}/builds/{buildId}", "getBuild", "Get a build from GitHub"),
];

export const globalVolumeRoutes = [
  emptyList("GET /global-volumes", "globalVolumes", "listGlobalVolumes", "List global volumes"),
  absent(GLOBAL_VOLUMES, "POST /global-volumes", "createGlobalVolume", "Create a global volume"),
];

export const delegationRoutes = [
  emptyList(
    "GET /registries/delegations",
    "delegations",
    "listDelegations",
    "List delegations of registries",
  ),
  absent(DELEGATIONS, "POST /registries/delegations", "createDelegation", "Delegate access to a registry"),
  absent(DELEGATIONS, "DELETE /registries/delegations/{id}", "revokeDelegation", "Revoke a delegation"),
];

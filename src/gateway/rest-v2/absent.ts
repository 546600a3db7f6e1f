/**
 * What this version does not have. Lists are empty; all else is 501, never 404, which clients take for "was deleted".
 */
import * as z from "zod";
import { ServiceError } from "../../contract/errors.ts";
import type { Operation } from "../route.ts";
import { pageQuerySchema, pageSchema, pageShape } from "./page.ts";
import { v2Route } from "./route.ts";

const PODS =
  "Pods are not offered by this version of Edgerun: it runs workers of endpoints only. See /v2/serverless.";
const CLUSTERS = "Clusters are not offered by this version of Edgerun: it runs workers of endpoints only.";
const BUILDS = "Builds from GitHub are not offered: build the image yourself and name it in the endpoint.";
const GLOBAL_VOLUMES =
  "Global volumes are not offered. Create a network volume at POST /v2/network-volumes instead.";

type Absent = { readonly tag: string; readonly reason: string };

function absent(
  { tag, reason }: Absent,
  method: Operation["method"],
  path: string,
  { id, summary }: { readonly id: string; readonly summary: string },
) {
  return v2Route({
    ...{ method, path, tag, id, summary: `${summary}: not offered` },
    errors: [501],
    serve: () => {
      throw new ServiceError("not_implemented", reason);
    },
  });
}

function emptyList(
  tag: string,
  path: string,
  member: string,
  { id, summary, query }: Pick<Operation, "id" | "summary" | "query">,
) {
  return v2Route({
    ...{ method: "GET", path, tag, id, summary: `${summary}: there are none` },
    errors: [400, 422],
    query: query ?? pageQuerySchema,
    answer: pageSchema(member, z.unknown()),
    serve: () => ({ [member]: [], pagination: { hasNextPage: false, nextCursor: null } }),
  });
}

const pods = { tag: "REST v2: pods", reason: PODS };
const clusters = { tag: "REST v2: clusters", reason: CLUSTERS };
const builds = { tag: "REST v2: endpoints", reason: BUILDS };
const globalVolumes = { tag: "REST v2: network volumes", reason: GLOBAL_VOLUMES };

export const absentRoutes = [
  emptyList(pods.tag, "/pods", "pods", {
    id: "listContainerPods",
    summary: "List pods",
    query: z.strictObject({ ...pageShape, includeClusterPods: z.enum(["true", "false"]).optional() }),
  }),
  absent(pods, "POST", "/pods", { id: "createContainerPod", summary: "Create a pod" }),
  absent(pods, "GET", "/pods/{id}", { id: "getContainerPod", summary: "Get a pod" }),
  absent(pods, "PATCH", "/pods/{id}", { id: "updateContainerPod", summary: "Change a pod" }),
  absent(pods, "DELETE", "/pods/{id}", { id: "deleteContainerPod", summary: "Delete a pod" }),
  absent(pods, "POST", "/pods/{id}/action", {
    id: "actOnContainerPod",
    summary: "Start, stop or restart a pod",
  }),
  absent(pods, "GET", "/pods/{id}/logs", {
    id: "streamContainerPodLogs",
    summary: "Stream the logs of a pod",
  }),
  emptyList(clusters.tag, "/clusters", "clusters", { id: "listClusters", summary: "List clusters" }),
  absent(clusters, "POST", "/clusters", { id: "createCluster", summary: "Create a cluster" }),
  absent(clusters, "GET", "/clusters/{id}", { id: "getCluster", summary: "Get a cluster" }),
  absent(clusters, "PATCH", "/clusters/{id}", { id: "updateCluster", summary: "Rename a cluster" }),
  absent(clusters, "DELETE", "/clusters/{id}", { id: "deleteCluster", summary: "Delete a cluster" }),
  absent(clusters, "GET", "/clusters/{id}/pods", {
    id: "listClusterPods",
    summary: "List the pods of a cluster",
  }),
  emptyList(builds.tag, "/serverless/{id}/builds", "builds", {
    id: "listBuilds",
    summary: "List builds from GitHub",
  }),
  absent(builds, "GET", "/serverless/{id}/builds/{buildId}", {
    id: "getBuild",
    summary: "Get a build from GitHub",
  }),
  emptyList(globalVolumes.tag, "/global-volumes", "globalVolumes", {
    id: "listGlobalVolumes",
    summary: "List global volumes",
  }),
  absent(globalVolumes, "POST", "/global-volumes", {
    id: "createGlobalVolume",
    summary: "Create a global volume",
  }),
];

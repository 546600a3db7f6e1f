/** Clusters: `/v2/clusters`. */
import * as z from "zod";
import { nameSchema as restNameSchema } from "../../contract/rest/rest.ts";
import { clusterRangeOf } from "../../domain/pods/cluster-addresses.ts";
import type { RequestContext } from "../../management/context.ts";
import {
  createCluster,
  deleteCluster,
  listOwnClusters,
  renameCluster,
  requireCluster,
  type Cluster,
} from "../../management/pods/clusters.ts";
import { showPod } from "../../management/pods/pod-view.ts";
import { pageOf, pageQuerySchema, pageSchema } from "./page.ts";
import { withPlaces } from "../rest/patch.ts";
import { clusterCreationSchema, podPlaces, readClusterCreation } from "./pod-bodies.ts";
import { podSchema, show, sshOf, STATUSES, statusOf } from "./pod-view.ts";
import { FIND, REMOVE, v2Route, WRITE } from "./route.ts";

const clusterSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    type: z.string(),
    compute: z.object({ gpuTypeId: z.string(), gpuCountPerPod: z.int(), podCount: z.int() }),
    template: z.string().optional(),
    dataCenterId: z.string().optional(),
    pods: z.object({ total: z.int(), byStatus: z.record(z.string(), z.int()) }),
    network: z
      .object({ cidr: z.string() })
      .optional()
      .meta({ description: "Of the private addresses of its pods; absent where they have none." }),
    primary: z
      .object({
        podId: z.string(),
        status: z.enum(STATUSES),
        sshEndpoint: z.string().optional(),
      })
      .optional()
      .meta({ description: "The pod with rank 0." }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: "PodCluster" });

const updateSchema = z.strictObject({ name: restNameSchema }).meta({ id: "UpdateClusterInput" });

export const clusterRoutes = [
  v2Route({
    on: "GET /clusters",
    id: "listClusters",
    summary: "List clusters",
    query: pageQuerySchema,
    errors: [400, 422, 503],
    answer: pageSchema("clusters", clusterSchema),
    serve: async (request, { query }) => {
      const all = (await listOwnClusters(request)).map((cluster) => ({ ...cluster.record, cluster }));
      const { entries, pagination } = pageOf(all, query);
      return { clusters: entries.map(({ cluster }) => showCluster(request, cluster)), pagination };
    },
  }),
  v2Route({
    on: "POST /clusters",
    id: "createCluster",
    summary: "Create a cluster",
    details:
      "Pods that are all alike, in one data center; all of them or none. Each has NODE_RANK, NUM_NODES, NUM_TRAINERS and WORLD_SIZE. Where its hosts allow it, each has a private address, `cluster.ip`, at which the others reach it at all ports; the cluster has a `network` then.",
    errors: WRITE,
    body: clusterCreationSchema,
    example: {
      name: "training",
      type: "TRAINING",
      image: "runpod/pytorch:latest",
      compute: { gpuTypeId: "NVIDIA H100 80GB HBM3", gpuCountPerPod: 8, podCount: 2 },
    },
    answer: clusterSchema,
    serve: async (request, { body }) =>
      await withPlaces(podPlaces, async () =>
        showCluster(request, await createCluster(request, readClusterCreation(body))),
      ),
  }),
  v2Route({
    on: "GET /clusters/{id}",
    id: "getCluster",
    summary: "Get a cluster",
    errors: [...FIND, 503],
    answer: clusterSchema,
    serve: async (request, { params }) => showCluster(request, await requireCluster(request, params.id)),
  }),
  v2Route({
    on: "PATCH /clusters/{id}",
    id: "updateCluster",
    summary: "Rename a cluster",
    errors: WRITE,
    body: updateSchema,
    example: { name: "renamed" },
    answer: clusterSchema,
    serve: async (request, { params, body }) =>
      showCluster(request, await renameCluster(request, params.id, body.name)),
  }),
  v2Route({
    on: "DELETE /clusters/{id}",
    id: "deleteCluster",
    summary: "Delete a cluster",
    details: "Its pods are terminated.",
    errors: REMOVE,
    serve: async (request, { params }) => await deleteCluster(request, params.id),
  }),
  v2Route({
    on: "GET /clusters/{id}/pods",
    id: "listClusterPods",
    summary: "List the pods of a cluster",
    errors: [...FIND, 503],
    answer: z.object({ pods: z.array(podSchema) }),
    serve: async (request, { params }) => {
      const { pods } = await requireCluster(request, params.id);
      return { pods: pods.map((pod) => show(request, pod)) };
    },
  }),
];

function showCluster(request: RequestContext, { record, pods }: Cluster): z.input<typeof clusterSchema> {
  const { id, name, type, gpuTypeId, gpuCountPerPod, podCount, templateId } = record;
  const byStatus = Map.groupBy(pods, statusOf);
  const [first] = pods;
  const ssh = first && sshOf(showPod(request, first));
  const dataCenterId = first?.view.host?.dataCenterId;
  return {
    ...{ id, name, type, compute: { gpuTypeId, gpuCountPerPod, podCount } },
    ...(templateId !== null && { template: templateId }),
    ...(dataCenterId !== undefined && { dataCenterId }),
    pods: {
      total: pods.length,
      byStatus: Object.fromEntries([...byStatus].map(([status, all]) => [status, all.length])),
    },
    ...(first && first.view.clusterAddress !== null && { network: networkOf(request) }),
    ...(first && {
      primary: {
        podId: first.record.id,
        status: statusOf(first),
        ...(ssh && { sshEndpoint: `${ssh.host}:${ssh.port}` }),
      },
    }),
    createdAt: new Date(record.createdAt).toISOString(),
  };
}

function networkOf({ env }: RequestContext): { readonly cidr: string } | undefined {
  const range = clusterRangeOf(env.CLUSTER_NETWORK);
  return range && { cidr: range.network };
}

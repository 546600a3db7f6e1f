/** Workers of an endpoint: `/v2/serverless/{id}/workers`. */
import * as z from "zod";
import type { WorkerState } from "../../contract/agent/agent.ts";
import type { WorkerView } from "../../fleet/messages.ts";
import { listOwnReleases, requireEndpoint } from "../../management/endpoints/endpoints.ts";
import { requireTemplate } from "../../management/endpoints/templates.ts";
import { listBusyWorkers, listWorkers, startOf } from "../../management/endpoints/worker-pods.ts";
import { FIND, v2Route } from "./route.ts";

const STATUSES = ["RUNNING", "IDLE", "INITIALIZING", "THROTTLED", "UNHEALTHY"] as const;
type Status = (typeof STATUSES)[number];

const STATUS_OF: Readonly<Record<Exclude<WorkerState, "ready" | "stopping" | "standby">, Status>> = {
  pulling: "INITIALIZING",
  starting: "INITIALIZING",
  unhealthy: "UNHEALTHY",
  crash_looping: "UNHEALTHY",
};

const workerSchema = z
  .object({
    id: z.string(),
    status: z.enum(STATUSES),
    isStale: z.boolean().meta({ description: "Runs an older version of the endpoint." }),
    version: z.int(),
    gpuCount: z.int(),
    image: z.string(),
    uptimeSeconds: z.int().nullable(),
    gpuTypeId: z.string().nullable(),
    dataCenterId: z.string(),
    startedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: "ServerlessWorker" });

const count = z.int();
const summaryShape = {
  running: count,
  idle: count,
  initializing: count,
  throttled: count,
  unhealthy: count,
  total: count,
};

const releaseSchema = z
  .object({
    id: z.string(),
    version: z.int(),
    source: z.enum(["MANUAL"]),
    buildId: z.string().nullable().meta({ description: "The flash build whose files its workers get." }),
    createdBy: z.string().nullable().meta({ description: "Name of the API key; null when it is deleted." }),
    createdByUserId: z.null(),
    workerCount: z.int(),
    createdAt: z.iso.datetime(),
    reason: z.string().nullable().meta({ description: "Why it was made, where the diff does not say so." }),
    diff: z.array(z.object({ field: z.string(), old: z.unknown(), new: z.unknown() })),
  })
  .meta({ id: "Release" });
const releasesSchema = z.object({
  endpointVersion: z.int(),
  rollout: z.object({
    inProgress: z.boolean(),
    workersOnLatest: z.int(),
    workersTotal: z.int(),
    percentOnLatest: z.int(),
  }),
  releases: z.array(releaseSchema),
});

type Release = Awaited<ReturnType<typeof listOwnReleases>>[number];
type Shown = z.input<typeof workerSchema>;

export const workerRoutes = [
  v2Route({
    on: "GET /serverless/{id}/workers",
    id: "listServerlessWorkers",
    summary: "List the workers of an endpoint",
    details: "Workers that stop or are on standby are not listed.",
    errors: [...FIND, 503],
    answer: z.object({
      workers: z.array(workerSchema),
      summary: z.object(summaryShape),
      endpointVersion: z.int(),
    }),
    serve: async (request, { params }) => {
      const { id, version, templateId } = await requireEndpoint(request, params.id);
      const [all, busy, template] = await Promise.all([
        listWorkers(request, [id]),
        listBusyWorkers(request, id),
        requireTemplate(request, templateId),
      ]);
      const workers = all.flatMap((worker) => {
        const status = statusOf(worker, busy);
        return status === undefined
          ? []
          : [show(worker, { status, version, image: template.imageName, now: request.now })];
      });
      return { workers, summary: summarize(workers), endpointVersion: version };
    },
  }),
  v2Route({
    on: "GET /serverless/{id}/releases",
    id: "listServerlessReleases",
    summary: "List the releases of an endpoint",
    details:
      "A release is a change for which workers are replaced. The newest comes first; at most 100 are kept. Values of variables are not shown.",
    errors: [...FIND, 503],
    answer: releasesSchema,
    serve: async (request, { params }) => {
      const { id, version } = await requireEndpoint(request, params.id);
      const [releases, all] = await Promise.all([listOwnReleases(request, id), listWorkers(request, [id])]);
      const workers = all.filter(({ state }) => state !== "stopping" && state !== "standby");
      const latest = workers.filter((worker) => worker.version >= version).length;
      const rollout = {
        inProgress: latest < workers.length,
        workersOnLatest: latest,
        workersTotal: workers.length,
        percentOnLatest: workers.length === 0 ? 0 : Math.floor((100 * latest) / workers.length),
      };
      return {
        endpointVersion: version,
        rollout,
        releases: releases.map((release) => showRelease(release, workers)),
      };
    },
  }),
];

function showRelease(
  { endpointId, version, changes, createdAt, flashBuildId, apiKeyName, reason }: Release,
  workers: readonly WorkerView[],
): z.input<typeof releaseSchema> {
  return {
    id: `${endpointId}-${version}`,
    version,
    source: "MANUAL",
    buildId: flashBuildId,
    createdBy: apiKeyName,
    createdByUserId: null,
    workerCount: workers.filter((worker) => worker.version === version).length,
    createdAt: new Date(createdAt).toISOString(),
    reason,
    diff: [...changes],
  };
}

/** Undefined for a worker that takes no jobs any more or not yet. */
function statusOf({ workerId, state }: WorkerView, busy: ReadonlySet<string>): Status | undefined {
  if (state === "stopping" || state === "standby") return undefined;
  if (state === "ready") return busy.has(workerId) ? "RUNNING" : "IDLE";
  return STATUS_OF[state];
}

function show(
  worker: WorkerView,
  {
    status,
    version,
    image,
    now,
  }: { readonly status: Status; readonly version: number; readonly image: string; readonly now: number },
): Shown {
  const startedAt = startOf(worker);
  return {
    id: worker.workerId,
    status,
    isStale: worker.version < version,
    version: worker.version,
    gpuCount: worker.gpuModels.length,
    image,
    uptimeSeconds: startedAt === null ? null : Math.max(0, Math.floor((now - startedAt) / 1_000)),
    gpuTypeId: worker.gpuModels[0] ?? null,
    dataCenterId: worker.dataCenterId,
    startedAt: startedAt === null ? null : new Date(startedAt).toISOString(),
  };
}

function summarize(workers: readonly Shown[]) {
  const having = (wanted: Status) => workers.filter(({ status }) => status === wanted).length;
  return {
    running: having("RUNNING"),
    idle: having("IDLE"),
    initializing: having("INITIALIZING"),
    throttled: having("THROTTLED"),
    unhealthy: having("UNHEALTHY"),
    total: workers.length,
  };
}

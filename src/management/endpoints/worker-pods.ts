/** The workers of an endpoint, as clients that think in pods see them. */
import { findDataCenter } from "../../catalog/data-centers.ts";
import { findGpuCard } from "../../catalog/gpu-cards.ts";
import { readCpuInstance } from "../../catalog/cpu-flavors.ts";
import type { WorkerState } from "../../contract/agent/agent.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";
import type { TemplateRecord } from "../../db/templates.ts";
import type { WorkerView } from "../../fleet/messages.ts";
import { cpuPrice, gpuPrice, roundPrice } from "../../domain/costs/nominal-prices.ts";
import { readGpuPrices } from "../catalog/prices.ts";
import type { RequestContext } from "../context.ts";
import { logFailure } from "../failure-log.ts";
import { endpointObject, fleetObject } from "../objects.ts";

type PodStatus = "CREATED" | "RUNNING" | "RESTARTING" | "EXITED";

const STATUS: Record<WorkerState, PodStatus> = {
  pulling: "CREATED",
  starting: "CREATED",
  ready: "RUNNING",
  unhealthy: "RUNNING",
  crash_looping: "RESTARTING",
  stopping: "EXITED",
  standby: "EXITED",
};

/** Workers of an endpoint of the calling account, the oldest first. */
export async function listWorkers(
  context: RequestContext,
  endpointIds: readonly string[],
): Promise<WorkerView[]> {
  return await fleetObject(context.env, context.principal.accountId).workersOf(endpointIds);
}

/** Ids of the workers of an endpoint that have a job or a request; none when its object cannot be reached. */
export async function listBusyWorkers(
  { env }: Pick<RequestContext, "env">,
  endpointId: string,
): Promise<ReadonlySet<string>> {
  try {
    const reply = await endpointObject(env, endpointId).workers();
    return new Set(reply.kind === "workers" ? reply.busyWorkers : []);
  } catch (cause) {
    logFailure("metrics_not_read", { endpointId }, cause);
    return new Set();
  }
}

/** A worker as a pod. Values of variables stay out, since they may be secret. */
export function toPod(
  { env, now }: Pick<RequestContext, "env" | "now">,
  worker: WorkerView,
  endpoint: EndpointRecord,
  template: TemplateRecord,
) {
  const startedAt = startOf(worker);
  const uptimeSeconds = startedAt === null ? 0 : Math.max(0, Math.floor((now - startedAt) / 1_000));
  return {
    ...sizeOf(worker, endpoint, env.GPU_PRICES),
    ...containerOf(template),
    id: worker.workerId,
    name: endpoint.name,
    desiredStatus: STATUS[worker.state],
    env: [],
    imageDigest: worker.imageDigest,
    version: worker.version,
    networkVolumeId: endpoint.networkVolumeId,
    machineId: worker.hostId,
    machine: machineOf(worker),
    dataCenterId: worker.dataCenterId,
    lastStartedAt: startedAt === null ? null : new Date(startedAt).toISOString(),
    lastStatusChange: describeChange(worker),
    uptimeSeconds,
    runtime: worker.state === "ready" ? runtimeOf(worker, uptimeSeconds) : null,
  };
}

function containerOf(template: TemplateRecord) {
  const { id: templateId, imageName, dockerArgs, containerDiskInGb, volumeInGb, volumeMountPath } = template;
  const { ports, containerRegistryAuthId } = template;
  const disk = { containerDiskInGb, volumeInGb, volumeMountPath };
  return { templateId, imageName, dockerArgs, ...disk, ports, containerRegistryAuthId };
}

function sizeOf(
  { gpuModels, gpuParts, limits }: WorkerView,
  endpoint: EndpointRecord,
  gpuPrices: string | undefined,
) {
  const [instanceId] = endpoint.instanceIds;
  if (instanceId !== undefined) {
    const reading = readCpuInstance(instanceId);
    if (reading.kind === "refused") return { gpuCount: 0, costPerHr: 0 };
    const { vcpus, memoryGb } = reading.instance;
    return { gpuCount: 0, vcpuCount: vcpus, memoryInGb: memoryGb, costPerHr: cpuPrice(vcpus) };
  }
  const prices = readGpuPrices(gpuPrices);
  const costs = gpuModels.map((model, index) => {
    const card = findGpuCard(model);
    return card === undefined ? 0 : gpuPrice(card, prices) * (gpuParts[index] ?? 1);
  });
  return {
    gpuCount: gpuModels.length,
    ...(limits && { vcpuCount: Math.floor(limits.cpuMilli / 1_000), memoryInGb: limits.memoryMb / 1_024 }),
    costPerHr: roundPrice(costs.reduce((sum, cost) => sum + cost, 0)),
  };
}

function machineOf({ workerId, hostId, gpuModels, isGpuSimulated, dataCenterId }: WorkerView) {
  const [model] = gpuModels;
  return {
    podHostId: `${workerId}-${hostId.slice(0, 8)}`,
    gpuTypeId: model ?? null,
    gpuDisplayName: model === undefined ? null : (findGpuCard(model)?.displayName ?? model),
    isGpuSimulated,
    location: findDataCenter(dataCenterId)?.countryCode ?? null,
  };
}

/** No port of a worker is published, and its load is not measured. */
function runtimeOf({ gpuModels }: WorkerView, uptimeInSeconds: number) {
  const gpus = gpuModels.map((_, index) => ({ id: `${index}` }));
  return { uptimeInSeconds, ports: [], gpus, container: null };
}

/** A container that is not up has not started, whatever it did before. */
export function startOf({ state, start }: WorkerView): number | null {
  if (state === "pulling" || state === "crash_looping" || state === "standby") return null;
  return start?.containerStartedAt ?? start?.readyAt ?? null;
}

const STATE_LABELS: Record<WorkerState, string> = {
  pulling: "Pulling the image",
  starting: "Starting",
  ready: "Ready",
  unhealthy: "Unhealthy",
  crash_looping: "Waiting to start again",
  stopping: "Stopping",
  standby: "On standby",
};

/** The state of a worker, since when, and what its agent says of it. */
export function describeChange({ state, start, createdAt, detail }: WorkerView): string {
  const at = changedAt(state, start, createdAt);
  const since = at === null ? "" : ` since ${new Date(at).toISOString()}`;
  return `${STATE_LABELS[state]}${since}${detail ? `: ${detail}` : ""}`;
}

/** When a worker came into its state, as far as it is known. */
function changedAt(state: WorkerState, start: WorkerView["start"], createdAt: number): number | null {
  if (state === "pulling") return start?.pullStartedAt ?? createdAt;
  if (state === "starting") return start?.containerStartedAt ?? createdAt;
  return state === "ready" ? (start?.readyAt ?? null) : null;
}

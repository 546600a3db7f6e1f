/** Workers as users and endpoints see them. */
import { cardsTaken } from "../domain/placement/gpu-memory.ts";
import { limitsOf } from "../domain/placement/host-capacity.ts";
import { detailWithMoves } from "../domain/placement/worker-moves.ts";
import type { WorkerSnapshot } from "../domain/jobs/queue-reason.ts";
import { resolveDataCenter } from "../catalog/data-centers.ts";
import type { FleetParts } from "./composition.ts";
import type { FleetStore, WorkerRecord } from "./fleet-store.ts";
import type { WorkerView } from "./messages.ts";

/** The workers of these endpoints, the oldest first. */
export function viewWorkers(store: FleetStore, endpointIds: readonly string[]): WorkerView[] {
  return [...new Set(endpointIds)]
    .flatMap((endpointId) => store.workersOf(endpointId))
    .toSorted((a, b) => a.createdAt - b.createdAt || a.workerId.localeCompare(b.workerId))
    .map((worker) => viewOfWorker(store, worker));
}

/** The workers of an endpoint, as reported to its object. */
export function reportedWorkers(
  { store, usage }: Pick<FleetParts, "store" | "usage">,
  endpointId: string,
): readonly WorkerSnapshot[] {
  return store.workersOf(endpointId).map((worker) => {
    const { workerId, hostId, version, start, revivals } = worker;
    const placedAt = worker.revivedAt ?? worker.createdAt;
    const status = { state: stateOf(worker), detail: detailWithMoves(worker), start, placedAt };
    const perHour = usage.priceOf(worker);
    const cost = { ...(perHour > 0 && { perHour }), ...startingTimeOf(worker) };
    return { workerId, hostId, version, ...status, ...(revivals > 0 && { revivals }), ...cost };
  });
}

function startingTimeOf({ readyAt, revivedAt, createdAt }: WorkerRecord): Pick<WorkerSnapshot, "startingMs"> {
  return readyAt === null ? {} : { startingMs: Math.max(0, readyAt - (revivedAt ?? createdAt)) };
}

/** The state of a worker for users: standby as soon as it gets no more jobs, unless it is being removed. */
export function stateOf({ state, standbyAt, retiredIn }: WorkerRecord): WorkerRecord["state"] {
  return standbyAt !== null && retiredIn === null ? "standby" : state;
}

export function viewOfWorker(store: FleetStore, worker: WorkerRecord): WorkerView {
  const { workerId, endpointId, hostId, version, imageDigest, createdAt, start, gpuIndexes } = worker;
  const state = stateOf(worker);
  const detail = detailWithMoves(worker);
  const inventory = store.hosts.get(hostId)?.inventory;
  const hostGpus = new Map(inventory?.gpus.map((gpu) => [gpu.index, gpu]));
  const gpus = gpuIndexes.map((index) => hostGpus.get(index));
  const limits = limitsOf(worker, inventory?.gpus ?? []) ?? null;
  const gpuModels = gpus.map((gpu) => gpu?.name ?? "");
  const isGpuSimulated = gpus.some((gpu) => gpu?.isSimulated === true);
  const dataCenterId = resolveDataCenter(inventory?.dataCenterId);
  const status = { state, detail, imageDigest, createdAt, start };
  const gpuParts = gpus.map((gpu) => (gpu ? cardsTaken(worker, [gpu]) : 1));
  const hardware = { dataCenterId, gpuModels, gpuParts, limits, isGpuSimulated };
  return { workerId, endpointId, hostId, version, ...hardware, ...status };
}

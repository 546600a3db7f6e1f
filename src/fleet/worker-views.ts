/** Workers as people see them, with the host behind each. */
import { detailWithMoves } from "../domain/placement/worker-moves.ts";
import type { WorkerSnapshot } from "../domain/jobs/queue-reason.ts";
import { resolveDataCenter } from "../domain/placement/stock.ts";
import type { FleetStore, WorkerRecord } from "./fleet-store.ts";
import type { WorkerView } from "./messages.ts";

/** The workers of these endpoints, the oldest first. */
export function viewWorkers(store: FleetStore, endpointIds: readonly string[]): WorkerView[] {
  return [...new Set(endpointIds)]
    .flatMap((endpointId) => store.workersOf(endpointId))
    .toSorted((a, b) => a.createdAt - b.createdAt || a.workerId.localeCompare(b.workerId))
    .map((worker) => viewOf(store, worker));
}

/** The workers of an endpoint, as its object is told of them. */
export function reportedWorkers(store: FleetStore, endpointId: string): readonly WorkerSnapshot[] {
  return store.workersOf(endpointId).map((worker) => {
    const { workerId, hostId, version, start, revivals } = worker;
    const status = { state: stateOf(worker), detail: detailWithMoves(worker), start };
    return { workerId, hostId, version, ...status, ...(revivals > 0 && { revivals }) };
  });
}

/** What a worker is, for people: one on standby is called so from the moment on that nobody gives it jobs any more. */
export function stateOf({ state, standbyAt, retiredIn }: WorkerRecord): WorkerRecord["state"] {
  return standbyAt !== null && retiredIn === null ? "standby" : state;
}

function viewOf(store: FleetStore, worker: WorkerRecord): WorkerView {
  const { workerId, endpointId, hostId, version, imageDigest, createdAt, start, gpuIndexes } = worker;
  const state = stateOf(worker);
  const detail = detailWithMoves(worker);
  const inventory = store.hosts.get(hostId)?.inventory;
  const hostGpus = new Map(inventory?.gpus.map((gpu) => [gpu.index, gpu]));
  const gpus = gpuIndexes.map((index) => hostGpus.get(index));
  const gpuModels = gpus.map((gpu) => gpu?.name ?? "");
  const isGpuSimulated = gpus.some((gpu) => gpu?.isSimulated === true);
  const dataCenterId = resolveDataCenter(inventory?.dataCenterId);
  const status = { state, detail, imageDigest, createdAt, start };
  return { workerId, endpointId, hostId, version, dataCenterId, gpuModels, isGpuSimulated, ...status };
}

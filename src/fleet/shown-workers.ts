/** Workers as people see them, with the host behind each. */
import { knownDataCenter } from "../domain/stock.ts";
import type { FleetStore, WorkerRecord } from "./fleet-store.ts";
import type { ShownWorker } from "./messages.ts";

/** The workers of these endpoints, the oldest first. */
export function showWorkers(store: FleetStore, endpointIds: readonly string[]): ShownWorker[] {
  const wanted = new Set(endpointIds);
  return [...store.workers.values()]
    .filter(({ endpointId }) => wanted.has(endpointId))
    .toSorted((a, b) => a.createdAt - b.createdAt || a.workerId.localeCompare(b.workerId))
    .map((worker) => show(store, worker));
}

function show(store: FleetStore, worker: WorkerRecord): ShownWorker {
  const { workerId, endpointId, hostId, state, detail, createdAt, start, gpuIndexes } = worker;
  const inventory = store.hosts.get(hostId)?.inventory;
  const models = new Map(inventory?.gpus.map(({ index, name }) => [index, name]));
  const gpuModels = gpuIndexes.map((index) => models.get(index) ?? "");
  const dataCenterId = knownDataCenter(inventory?.dataCenterId);
  return { workerId, endpointId, hostId, dataCenterId, gpuModels, state, detail, createdAt, start };
}

/** Views of the fleet: workers for users and endpoints, and the hosts and endpoints of an account for metrics. */
import type { WorkerState } from "../contract/agent/agent.ts";
import type { FleetParts } from "./composition.ts";
import type { WorkerRecord, FleetStore } from "./fleet-store.ts";
import type { SeenTelemetry } from "./hosts/host-presence.ts";
import { limitsOf } from "../domain/placement/host-capacity.ts";
import { detailWithMoves } from "../domain/placement/worker-moves.ts";
import type { WorkerSnapshot } from "../domain/jobs/queue-reason.ts";
import { resolveDataCenter } from "../domain/placement/stock.ts";
import type { WorkerView } from "./messages.ts";

export type HostSnapshot = {
  readonly hostId: string;
  readonly name: string;
  readonly isPresent: boolean;
  /** Without those on standby, which take no capacity. */
  readonly workers: number;
  readonly gpus: { readonly total: number; readonly taken: number };
  readonly telemetry: SeenTelemetry | null;
};

export type EndpointSnapshot = {
  readonly endpointId: string;
  readonly name: string;
  readonly desired: number;
  readonly missing: number;
  readonly workers: Readonly<Partial<Record<WorkerState, number>>>;
};

export type FleetSnapshot = {
  readonly hosts: readonly HostSnapshot[];
  /** Those that should have workers, have some, or had some recently. */
  readonly endpoints: readonly EndpointSnapshot[];
  /** Pods that have a place, that wait for one, and that are stopped. */
  readonly pods: Readonly<Record<"running" | "waiting" | "stopped", number>>;
};

/** How long after its last worker an endpoint is still measured. */
const RECENT_MS = 15 * 60_000;

/** Counts in memory; only rows of recently ended workers are read. */
export function takeFleetSnapshot(
  { store, podStore, presence, telemetry, placer, usage }: FleetParts,
  accountId: string,
  now: number,
): FleetSnapshot {
  const hosts = [...store.hosts.values()]
    .filter((host) => host.accountId === accountId && host.removedAt === null)
    .map(({ hostId, name, inventory }) => {
      const workers = store.workersOn(hostId).filter(({ standbyAt }) => standbyAt === null);
      const taken = workers.reduce((sum, { gpuIndexes }) => sum + gpuIndexes.length, 0);
      return {
        hostId,
        name,
        isPresent: presence.isPresent(hostId, now),
        workers: workers.length,
        gpus: { total: inventory.gpus.length, taken },
        telemetry: telemetry.of(hostId),
      };
    });
  const recent = usage.endpointsSince(now - RECENT_MS);
  const endpoints = [...store.desiredWorkers.values()]
    .filter(({ config }) => config.accountId === accountId)
    .map(({ desired, config: { endpointId, name } }) => ({
      endpointId,
      name,
      desired,
      missing: placer.placementStatus(endpointId).missing,
      workers: countStates(store.workersOf(endpointId)),
    }))
    .filter(
      ({ endpointId, desired, workers }) =>
        desired > 0 || Object.keys(workers).length > 0 || recent.has(endpointId),
    );
  const pods = { running: 0, waiting: 0, stopped: 0 };
  for (const { desired, config } of podStore.ofAccount(accountId)) {
    const hasPlace = store.workers.get(config.podId)?.retiredIn === null;
    pods[desired === "stopped" ? "stopped" : hasPlace ? "running" : "waiting"] += 1;
  }
  return { hosts, endpoints, pods };
}

function countStates(workers: readonly WorkerRecord[]): EndpointSnapshot["workers"] {
  const groups = [...Map.groupBy(workers, stateOf)];
  return Object.fromEntries(groups.map(([state, group]) => [state, group.length]));
}

/** The workers of these endpoints, the oldest first. */
export function viewWorkers(store: FleetStore, endpointIds: readonly string[]): WorkerView[] {
  return [...new Set(endpointIds)]
    .flatMap((endpointId) => store.workersOf(endpointId))
    .toSorted((a, b) => a.createdAt - b.createdAt || a.workerId.localeCompare(b.workerId))
    .map((worker) => viewOfWorker(store, worker));
}

/** The workers of an endpoint, as reported to its object. */
export function reportedWorkers(store: FleetStore, endpointId: string): readonly WorkerSnapshot[] {
  return store.workersOf(endpointId).map((worker) => {
    const { workerId, hostId, version, start, revivals } = worker;
    const status = { state: stateOf(worker), detail: detailWithMoves(worker), start };
    return { workerId, hostId, version, ...status, ...(revivals > 0 && { revivals }) };
  });
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
  const hardware = { dataCenterId, gpuModels, limits, isGpuSimulated };
  return { workerId, endpointId, hostId, version, ...hardware, ...status };
}

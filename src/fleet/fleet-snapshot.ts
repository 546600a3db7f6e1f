/** The hosts, endpoints and pods of an account, for metrics. */
import type { WorkerState } from "../contract/agent/agent.ts";
import type { FleetParts } from "./composition.ts";
import type { WorkerRecord } from "./fleet-store.ts";
import { stateOf } from "./worker-view.ts";
import type { SeenTelemetry } from "./hosts/host-presence.ts";

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
      const taken = new Set(workers.flatMap(({ gpuIndexes }) => gpuIndexes)).size;
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

/** The parts of a Fleet object beside its wake-up channels and its alarm. */
import type { ObjectDatabase } from "../durable/sql.ts";
import type { GpuPrices } from "../domain/costs/nominal-prices.ts";
import type { ClusterRange } from "../domain/pods/cluster-addresses.ts";
import { Budgets } from "./budgets.ts";
import { FleetStore } from "./fleet-store.ts";
import { HostPools, HostRevisions } from "./hosts/host-pools.ts";
import { HostModels } from "./hosts/host-models.ts";
import { HostPresence, TelemetryCache } from "./hosts/host-presence.ts";
import { ClusterNetworks } from "./pods/cluster-networks.ts";
import { PodPlacer } from "./pods/pod-placer.ts";
import { PodStore } from "./pods/pod-store.ts";
import { PodWorkers } from "./pods/pod-workers.ts";
import { Pods } from "./pods/pods.ts";
import { Preemptor } from "./pods/preemptor.ts";
import { PromisedPlaces } from "./pods/promised-places.ts";
import { CapacitySharing } from "./placement/capacity-sharing.ts";
import { Placer } from "./placement/placer.ts";
import { Standbys } from "./placement/standbys.ts";
import { UsageStore, WorkerUsage } from "./worker-usage.ts";

export type FleetParts = ReturnType<typeof fleetParts>;

export type FleetSettings = {
  /** Addresses for pods of clusters; absent for none. */
  readonly clusterRange?: ClusterRange | undefined;
  readonly gpuPrices?: GpuPrices;
};

export function fleetParts(database: ObjectDatabase, { clusterRange, gpuPrices = {} }: FleetSettings = {}) {
  const store = new FleetStore(database);
  const podStore = new PodStore(database);
  const promised = new PromisedPlaces();
  const pools = new HostPools(store, podStore, promised);
  const revisions = new HostRevisions(store);
  const usage = new WorkerUsage(store, podStore, new UsageStore(database, gpuPrices), gpuPrices);
  const budgets = new Budgets(database, store, usage);
  const standbys = new Standbys(store, pools, revisions, usage);
  const telemetry = new TelemetryCache();
  const models = new HostModels();
  const presence = new HostPresence();
  const clusters = new ClusterNetworks({ store, podStore, pools, revisions, clusterRange });
  const base = {
    clusters,
    store,
    podStore,
    promised,
    pools,
    revisions,
    usage,
    budgets,
    standbys,
    telemetry,
    models,
    presence,
  };
  const podWorkers = new PodWorkers(base);
  const preemptor = new Preemptor({ ...base, podWorkers });
  const podPlacer = new PodPlacer({ ...base, podWorkers, preemptor });
  const sharing = new CapacitySharing(base);
  const placer = new Placer({ ...base, podPlacer, preemptor, sharing });
  const pods = new Pods({ ...base, podWorkers, podPlacer });
  return { ...base, podPlacer, sharing, placer, pods };
}

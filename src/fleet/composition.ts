/** The parts of a Fleet object beside its wake-up channels and its alarm. */
import type { ObjectDatabase } from "../durable/sql.ts";
import type { ClusterRange } from "../domain/pods/cluster-addresses.ts";
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
import { Placer } from "./placement/placer.ts";
import { Standbys } from "./placement/standbys.ts";
import { UsageStore, WorkerUsage } from "./worker-usage.ts";

export type FleetParts = ReturnType<typeof fleetParts>;

/** `clusterRange`: addresses for pods of clusters; undefined for none. */
export function fleetParts(database: ObjectDatabase, clusterRange?: ClusterRange) {
  const store = new FleetStore(database);
  const podStore = new PodStore(database);
  const promised = new PromisedPlaces();
  const pools = new HostPools(store, podStore, promised);
  const revisions = new HostRevisions(store);
  const usage = new WorkerUsage(store, podStore, new UsageStore(database));
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
    standbys,
    telemetry,
    models,
    presence,
  };
  const podWorkers = new PodWorkers(base);
  const preemptor = new Preemptor({ ...base, podWorkers });
  const podPlacer = new PodPlacer({ ...base, podWorkers, preemptor });
  const placer = new Placer({ ...base, podPlacer, preemptor });
  const pods = new Pods({ ...base, podWorkers, podPlacer });
  return { ...base, podPlacer, placer, pods };
}

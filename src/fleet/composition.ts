/** The parts of a Fleet object beside its wake-up channels and its alarm. */
import type { ObjectDatabase } from "../durable/sql.ts";
import { FleetStore } from "./fleet-store.ts";
import { HostPools, HostRevisions } from "./hosts/host-pools.ts";
import { HostPresence, TelemetryCache } from "./hosts/host-presence.ts";
import { Placer } from "./placement/placer.ts";
import { Standbys } from "./placement/standbys.ts";
import { UsageStore, WorkerUsage } from "./worker-usage.ts";

export type FleetParts = ReturnType<typeof fleetParts>;

export function fleetParts(database: ObjectDatabase) {
  const store = new FleetStore(database);
  const pools = new HostPools(store);
  const revisions = new HostRevisions(store);
  const usage = new WorkerUsage(store, new UsageStore(database));
  const standbys = new Standbys(store, pools, revisions, usage);
  const placer = new Placer(store, pools, revisions, standbys);
  const telemetry = new TelemetryCache();
  const presence = new HostPresence();
  return { store, presence, pools, revisions, standbys, placer, telemetry, usage };
}

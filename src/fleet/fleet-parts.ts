/** What a Fleet object is made of, beside its doorbells and its alarm. */
import type { ObjectDatabase } from "../durable/sql.ts";
import { FleetStore } from "./fleet-store.ts";
import { HostPools } from "./host-pools.ts";
import { HostPresence } from "./host-presence.ts";
import { HostRevisions } from "./host-revisions.ts";
import { Placer } from "./placer.ts";
import { Standbys } from "./standbys.ts";

export type FleetParts = ReturnType<typeof fleetParts>;

export function fleetParts(database: ObjectDatabase) {
  const store = new FleetStore(database);
  const pools = new HostPools(store);
  const revisions = new HostRevisions(store);
  const standbys = new Standbys(store, pools, revisions);
  const placer = new Placer(store, pools, revisions, standbys);
  return { store, presence: new HostPresence(), pools, revisions, standbys, placer };
}

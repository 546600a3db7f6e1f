/** Eviction for the newer version of an endpoint, on hosts that are full. */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { HostPool } from "../../domain/placement/host-pool.ts";
import { findEvictionSets } from "../../domain/rollouts/eviction-sets.ts";
import type { FleetStore } from "../fleet-store.ts";

/** Sets of the endpoint's workers of older versions, each of which would free a place. */
export function evictionSetsOf(
  store: FleetStore,
  config: EndpointConfig,
  pool: HostPool,
): readonly (readonly string[])[] {
  const outdated = store
    .workersOf(config.endpointId)
    .filter((worker) => worker.version < config.version)
    .filter(({ retiredIn, standbyAt }) => retiredIn === null && standbyAt === null);
  if (outdated.length === 0) return [];
  const hostIds = new Set(outdated.map(({ hostId }) => hostId));
  const hosts = pool.hosts.filter(({ host }) => hostIds.has(host.hostId));
  return findEvictionSets(
    config,
    hosts.map(({ host }) => ({
      host,
      tenants: store
        .workersOn(host.hostId)
        .map((worker) => ({ ...worker, isOutdated: outdated.includes(worker) })),
    })),
  );
}

/**
 * On which hosts the pods of a cluster reach each other: on one that keeps clusters apart, or on several that name an
 * address by which they reach each other.
 */
import type { HostCapacity } from "../placement/host-capacity.ts";
import type { Requirement } from "../placement/host-fit.ts";
import { findPlaceOn } from "../placement/host-pool.ts";

/** What a host offers to pods of clusters. */
export type ClusterHost = {
  readonly hostId: string;
  readonly canJoinClusters?: boolean | undefined;
  /** It has an address at which other hosts reach it. */
  readonly hasClusterAddress?: boolean | undefined;
};

/**
 * Hosts with places for so many pods that reach each other: one, if there is such a host, else as few as possible in
 * one data center. Undefined where there are none.
 */
export function findClusterHosts(
  requirement: Requirement,
  podCount: number,
  capacities: readonly HostCapacity[],
): ReadonlySet<string> | undefined {
  const able = capacities
    .filter(({ host }) => host.canJoinClusters)
    .map((capacity) => ({ capacity, places: countPlaces(capacity, requirement, podCount) }))
    .filter(({ places }) => places > 0)
    .toSorted((a, b) => b.places - a.places);
  const [largest] = able;
  if (largest && largest.places >= podCount) return new Set([largest.capacity.host.hostId]);
  const linked = able.filter(({ capacity }) => capacity.host.hasClusterAddress);
  for (const near of Map.groupBy(linked, ({ capacity }) => capacity.dataCenterId).values()) {
    const chosen = new Set<string>();
    let left = podCount;
    for (const { capacity, places } of near) {
      chosen.add(capacity.host.hostId);
      left -= places;
      if (left <= 0) return chosen;
    }
  }
  return undefined;
}

function countPlaces(capacity: HostCapacity, requirement: Requirement, most: number): number {
  const copy = capacity.copy();
  for (let places = 0; places < most; places += 1) {
    const place = findPlaceOn(copy, requirement);
    if (!place) return places;
    copy.allocate(place.gpuIndexes, place.size);
  }
  return most;
}

/** Hosts for a pod whose peers are on `taken`: those that reach all of these. */
export function hostsBeside(hosts: readonly ClusterHost[], taken: ReadonlySet<string>): readonly string[] {
  const able = hosts.filter(({ canJoinClusters }) => canJoinClusters);
  const linked = new Set(
    able.filter(({ hasClusterAddress }) => hasClusterAddress).map(({ hostId }) => hostId),
  );
  if (taken.size === 0) return able.map(({ hostId }) => hostId);
  if (taken.size > 1) return [...linked];
  const [only = ""] = taken;
  return linked.has(only) ? [...linked] : [only];
}

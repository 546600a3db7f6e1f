/** Which interruptible pods give way to a worker or a reserved pod that has no place. */
import { HostCapacity, type Allocation, type CandidateHost } from "../placement/host-capacity.ts";
import type { Requirement } from "../placement/host-fit.ts";
import { findPlaceOn, type Place } from "../placement/host-pool.ts";

export type InterruptiblePod = Allocation & {
  readonly podId: string;
  readonly bidPerGpu: number;
  /** Since when it runs. */
  readonly since: number;
};

export type SharedHost = {
  readonly host: CandidateHost;
  /** What is not freed: workers that stay, and places that are promised. */
  readonly staying: readonly Allocation[];
  readonly interruptible: readonly InterruptiblePod[];
};

/** A place, and the pods that give way for it; none where capacity is being freed already. */
export type Preemption = { readonly place: Place; readonly pods: readonly InterruptiblePod[] };

/**
 * The place for which the least is taken: the highest bid among the pods that give way is as low as can be; of equal
 * ones as few pods as can be, and of those the youngest. Undefined where no place can be made.
 */
export function findPreemption(
  requirement: Requirement,
  hosts: readonly SharedHost[],
): Preemption | undefined {
  let best: Preemption | undefined;
  for (const shared of hosts) {
    const found = preemptionOn(requirement, shared);
    if (found?.pods.length === 0) return found;
    if (found && (!best || compare(found, best) < 0)) best = found;
  }
  return best;
}

/** In the order in which they give way, no more than needed, and of those none that is not. */
function preemptionOn(
  requirement: Requirement,
  { host, staying, interruptible }: SharedHost,
): Preemption | undefined {
  const placeWithout = (leaving: readonly InterruptiblePod[]) => {
    const others = interruptible.filter((pod) => !leaving.includes(pod));
    return findPlaceOn(new HostCapacity(host, [...staying, ...others]), requirement);
  };
  if (!placeWithout(interruptible)) return undefined;
  const inOrder = interruptible.toSorted(cheapestFirst);
  let leaving: readonly InterruptiblePod[] = [];
  for (let count = 0; count <= inOrder.length; count += 1) {
    leaving = inOrder.slice(0, count);
    if (placeWithout(leaving)) break;
  }
  // The last one is needed, or fewer would have sufficed.
  for (const pod of leaving.slice(0, -1).toReversed()) {
    const fewer = leaving.filter((other) => other !== pod);
    if (placeWithout(fewer)) leaving = fewer;
  }
  const place = placeWithout(leaving);
  return place && { place, pods: leaving };
}

function compare(a: Preemption, b: Preemption): number {
  return (
    highestBid(a) - highestBid(b) ||
    a.pods.length - b.pods.length ||
    oldest(b) - oldest(a) ||
    (a.place.hostId < b.place.hostId ? -1 : 1)
  );
}

function highestBid({ pods }: Preemption): number {
  return Math.max(...pods.map(({ bidPerGpu }) => bidPerGpu));
}

function oldest({ pods }: Preemption): number {
  return Math.min(...pods.map(({ since }) => since));
}

function cheapestFirst(a: InterruptiblePod, b: InterruptiblePod): number {
  return a.bidPerGpu - b.bidPerGpu || b.since - a.since || (a.podId < b.podId ? -1 : 1);
}

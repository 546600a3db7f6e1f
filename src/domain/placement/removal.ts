/** Which of the allocations that may be removed make a place for a worker or pod, so that the least is taken. */
import { HostCapacity, type Allocation, type CandidateHost } from "./host-capacity.ts";
import type { Requirement } from "./host-fit.ts";
import { findPlaceOn, type Place } from "./host-pool.ts";

export type Removable = Allocation & {
  readonly id: string;
  /** Those of lower cost are removed first, and of equal ones those whose `age` is lower. */
  readonly cost: number;
  readonly age: number;
};

export type OccupiedHost<Member extends Removable> = {
  readonly host: CandidateHost;
  /** What stays, and places that are promised. */
  readonly staying: readonly Allocation[];
  readonly removable: readonly Member[];
};

/** A place, and what is removed for it; nothing where capacity is being freed already. */
export type Removal<Member extends Removable> = {
  readonly place: Place;
  readonly removed: readonly Member[];
};

/**
 * The place for which the least is taken: the highest cost among what is removed is as low as can be; of equal ones as
 * few as can be, and of those the ones of the lowest age. Undefined where no place can be made.
 */
export function findRemoval<Member extends Removable>(
  requirement: Requirement,
  hosts: readonly OccupiedHost<Member>[],
): Removal<Member> | undefined {
  let best: Removal<Member> | undefined;
  for (const occupied of hosts) {
    const found = removalOn(requirement, occupied);
    if (found?.removed.length === 0) return found;
    if (found && (!best || compare(found, best) < 0)) best = found;
  }
  return best;
}

/** Whether a place could be made. */
export function isRemovable(requirement: Requirement, { host, staying }: OccupiedHost<Removable>): boolean {
  return findPlaceOn(new HostCapacity(host, staying), requirement) !== undefined;
}

/** In the order in which they are removed, no more than needed, and of those none that is not. */
function removalOn<Member extends Removable>(
  requirement: Requirement,
  occupied: OccupiedHost<Member>,
): Removal<Member> | undefined {
  const { host, staying, removable } = occupied;
  const placeWithout = (removed: readonly Member[]) => {
    const others = removable.filter((one) => !removed.includes(one));
    return findPlaceOn(new HostCapacity(host, [...staying, ...others]), requirement);
  };
  if (!isRemovable(requirement, occupied)) return undefined;
  const inOrder = removable.toSorted(leastFirst);
  let removed: readonly Member[] = [];
  for (let count = 0; count <= inOrder.length; count += 1) {
    removed = inOrder.slice(0, count);
    if (placeWithout(removed)) break;
  }
  // The last one is needed, or fewer would have sufficed.
  for (const one of removed.slice(0, -1).toReversed()) {
    const fewer = removed.filter((other) => other !== one);
    if (placeWithout(fewer)) removed = fewer;
  }
  const place = placeWithout(removed);
  return place && { place, removed };
}

function compare(a: Removal<Removable>, b: Removal<Removable>): number {
  const most = ({ removed }: Removal<Removable>, key: "cost" | "age") =>
    Math.max(...removed.map((one) => one[key]));
  return (
    most(a, "cost") - most(b, "cost") ||
    a.removed.length - b.removed.length ||
    most(a, "age") - most(b, "age") ||
    (a.place.hostId < b.place.hostId ? -1 : 1)
  );
}

function leastFirst(a: Removable, b: Removable): number {
  return a.cost - b.cost || a.age - b.age || (a.id < b.id ? -1 : 1);
}

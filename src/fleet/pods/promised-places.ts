/**
 * Places that pods or workers are about to get: they are kept free while what is there stops. In memory only: a pod or
 * endpoint that waits finds the capacity that is being freed again.
 */
import { type Allocation, HostCapacity } from "../../domain/placement/host-capacity.ts";
import type { Place } from "../../domain/placement/host-pool.ts";

export type PromisedPlace = Place & {
  /** The pod or the endpoint that gets it. */
  readonly promisedTo: string;
  /** The version of what it was found for. */
  readonly version: number;
};

export class PromisedPlaces {
  readonly #byHost = new Map<string, PromisedPlace[]>();
  readonly #byReceiver = new Map<string, PromisedPlace[]>();

  on(hostId: string): readonly PromisedPlace[] {
    return this.#byHost.get(hostId) ?? [];
  }

  of(promisedTo: string): readonly PromisedPlace[] {
    return this.#byReceiver.get(promisedTo) ?? [];
  }

  /** Hosts on which a place is promised. */
  hostIds(): readonly string[] {
    return [...this.#byHost.keys()];
  }

  add(place: PromisedPlace): void {
    this.#byHost.set(place.hostId, [...this.on(place.hostId), place]);
    this.#byReceiver.set(place.promisedTo, [...this.of(place.promisedTo), place]);
  }

  remove(place: PromisedPlace): void {
    without(this.#byHost, place.hostId, place);
    without(this.#byReceiver, place.promisedTo, place);
  }
}

/** Whether a place is free beside these; never where its host takes no workers, or has lost its GPUs. */
export function isFreeBeside(
  capacity: HostCapacity | undefined,
  others: readonly Allocation[],
  { gpuIndexes, size }: Place,
): boolean {
  return capacity !== undefined && new HostCapacity(capacity.host, others).canReclaim(gpuIndexes, size);
}

function without(groups: Map<string, PromisedPlace[]>, key: string, place: PromisedPlace): void {
  const left = (groups.get(key) ?? []).filter((other) => other !== place);
  if (left.length > 0) groups.set(key, left);
  else groups.delete(key);
}

/**
 * Places that are promised to endpoints while what is there stops: which ones they are promised, and which one of them an
 * endpoint takes. Of two the one that comes first may be promised what becomes free later; then they exchange them.
 */
import { type Need, serveFairly } from "../../domain/placement/fleet-plan.ts";
import { isSuited } from "../../domain/placement/host-fit.ts";
import type { HostPool, Place } from "../../domain/placement/host-pool.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { allocationsOf, type FleetStore } from "../fleet-store.ts";
import type { Preemptor } from "../pods/preemptor.ts";
import { isFreeBeside, type PromisedPlace, type PromisedPlaces } from "../pods/promised-places.ts";

type EndpointPromisesParts = {
  readonly store: FleetStore;
  readonly promised: PromisedPlaces;
  readonly preemptor: Preemptor;
};

/** An endpoint that lacks workers. */
type ShortNeed = Need & { readonly canWait: boolean };

export class EndpointPromises {
  readonly #store: FleetStore;
  readonly #promised: PromisedPlaces;
  readonly #preemptor: Preemptor;

  constructor(parts: EndpointPromisesParts) {
    this.#store = parts.store;
    this.#promised = parts.promised;
    this.#preemptor = parts.preemptor;
  }

  /** How many places an endpoint is promised. */
  countOf(endpointId: string): number {
    return this.#promised.of(endpointId).length;
  }

  /**
   * Interruptible pods give way to workers, and capacity that is being freed is promised to them; not to those of a new
   * version while older ones do the work. `missing`: workers that each endpoint lacks.
   */
  make(needs: readonly ShortNeed[], missing: ReadonlyMap<string, number>, now: number): void {
    const short = needs
      .filter(({ canWait }) => !canWait)
      .map((need) => {
        const has = need.desired - (missing.get(need.endpointId) ?? 0) + this.countOf(need.endpointId);
        return { ...need, has };
      });
    serveFairly(short, now, ({ endpointId }) => {
      const config = this.#store.desiredWorkers.get(endpointId)?.config;
      if (!config) return false;
      return this.#preemptor.makePlace({ promisedTo: endpointId, config, requirement: config }, now);
    });
  }

  /** Withdraws what an endpoint is promised beyond what it lacks, and what was for an older version. */
  withdrawSurplus(endpointId: string, missing: number): void {
    const version = this.#store.desiredWorkers.get(endpointId)?.config.version;
    const places = this.#promised.of(endpointId);
    const current = places.filter((place) => place.version === version).slice(0, missing);
    if (current.length < places.length)
      this.#preemptor.withdraw(places.filter((place) => !current.includes(place)));
  }

  /** A place that is free by now. To be called for endpoints in the order in which they get workers. */
  take(config: EndpointConfig, pool: HostPool): Place | undefined {
    const own = this.#promised.of(config.endpointId).filter(({ version }) => version === config.version);
    const place = own.find((promise) => this.#isFree(promise, pool)) ?? this.#exchange(own, config, pool);
    if (place) this.#promised.remove(place);
    return place;
  }

  /** Another endpoint gets one of these in place of its own, where either will do for both. */
  #exchange(
    own: readonly PromisedPlace[],
    config: EndpointConfig,
    pool: HostPool,
  ): PromisedPlace | undefined {
    if (own.length === 0) return undefined;
    const others = this.#promised.hostIds().flatMap((hostId) => this.#promised.on(hostId));
    for (const place of others) {
      const other = this.#store.desiredWorkers.get(place.promisedTo)?.config;
      if (other?.accountId !== config.accountId || other.version !== place.version) continue;
      if (!this.#isFree(place, pool) || !isSuitedTo(config, place, pool)) continue;
      const given = own.find((promise) => isSuitedTo(other, promise, pool));
      if (!given) continue;
      this.#promised.remove(given);
      this.#promised.add({ ...given, promisedTo: place.promisedTo, version: place.version });
      return place;
    }
    return undefined;
  }

  #isFree(place: PromisedPlace, pool: HostPool): boolean {
    const others = allocationsOf(this.#store.workersOn(place.hostId));
    return isFreeBeside(pool.capacityOf(place.hostId), others, place);
  }
}

function isSuitedTo(config: EndpointConfig, place: Place, pool: HostPool): boolean {
  const capacity = pool.capacityOf(place.hostId);
  return capacity !== undefined && isSuited(capacity, config, place);
}

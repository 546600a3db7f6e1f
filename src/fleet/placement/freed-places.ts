/**
 * Which of the places that are promised to endpoints one of them takes. Of two the one that comes first may be promised
 * what becomes free later; then they exchange them.
 */
import { isSuited } from "../../domain/placement/host-fit.ts";
import type { HostPool, Place } from "../../domain/placement/host-pool.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { allocationsOf, type FleetStore } from "../fleet-store.ts";
import { isFreeBeside, type PromisedPlace, type PromisedPlaces } from "../pods/promised-places.ts";

export class FreedPlaces {
  readonly #store: FleetStore;
  readonly #promised: PromisedPlaces;

  constructor(parts: { readonly store: FleetStore; readonly promised: PromisedPlaces }) {
    this.#store = parts.store;
    this.#promised = parts.promised;
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

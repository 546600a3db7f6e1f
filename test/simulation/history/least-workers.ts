/** An endpoint has at least workersMin workers, whether there are jobs or not. */
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import type { Calm } from "./calm.ts";
import type { HistoryPlan } from "./plan.ts";
import { type FleetView, hostsWithPlace, stayingWorkers } from "./places.ts";

export type LeastWorkersParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly calm: Calm;
  readonly accounts: readonly Account[];
  readonly fleet: FleetView;
  readonly violate: (what: string) => void;
};

const LOOK_MS = 250;
/** A place on a host that has worked for so long is used for a worker that is lacking within this time. */
const LACKING_MS = 10_000;

export class LeastWorkers {
  readonly #parts: LeastWorkersParts;
  readonly #least: number;
  /** Since when an endpoint has lacked workers for which there is a place, ms of the history. */
  readonly #lackingSince = new Map<string, number>();
  #lookAt = 0;

  constructor(parts: LeastWorkersParts) {
    const { workersMin, workersMax, isManaged } = parts.plan;
    this.#parts = parts;
    // An operator sets another one.
    this.#least = isManaged ? 0 : Math.min(workersMin, workersMax);
  }

  checkStep(): void {
    const { world, accounts } = this.#parts;
    if (this.#least === 0 || world.elapsedMs < this.#lookAt) return;
    this.#lookAt = world.elapsedMs + LOOK_MS;
    for (const endpointId of accounts.flatMap(({ endpointIds }) => endpointIds))
      this.#checkEndpoint(endpointId);
  }

  #checkEndpoint(endpointId: string): void {
    const { world, accounts, fleet, calm, violate } = this.#parts;
    const staying = stayingWorkers(endpointId, fleet.workers).length;
    const isLacking =
      staying < this.#least &&
      hostsWithPlace(accounts, endpointId, fleet).some((host) => calm.ofCalls(host) > LACKING_MS);
    if (!isLacking) return void this.#lackingSince.delete(endpointId);
    const since = this.#lackingSince.get(endpointId) ?? world.elapsedMs;
    this.#lackingSince.set(endpointId, since);
    if (world.elapsedMs - since > LACKING_MS)
      violate(`${endpointId} has ${staying} workers of at least ${this.#least} though there is a place`);
  }
}

/** Who gets the next worker where endpoints of an account wait for the same capacity. */
import type { World } from "../world/world.ts";
import { SLICE_MIN_MS } from "../../../src/domain/placement/shares.ts";
import { type Account, accountWith } from "./account.ts";
import { asksForNoMore } from "./capacity.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import type { HistoryPlan } from "./plan.ts";

export type FairnessParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly accounts: readonly Account[];
  readonly violate: (what: string) => void;
};

/** `config`: JSON. */
export type DesiredRow = { readonly endpoint_id: string; readonly desired: number; readonly config: string };
/** Since when an endpoint has lacked workers, null when it has all; and which it has. */
type Need = { readonly since: number | null; readonly workerIds: ReadonlySet<string> };
/** How many workers each endpoint had from a time on, ms of the history. */
type Holding = { readonly at: number; readonly counts: ReadonlyMap<string, number> };

/** Fleet counts what endpoints have used when it plans. */
const COUNTED_LATE_MS = 2_000;

export class Fairness {
  readonly #parts: FairnessParts;
  #needs: ReadonlyMap<string, Need> = new Map();
  readonly #isComparable: boolean;
  readonly #holdings: Holding[] = [];

  constructor(parts: FairnessParts) {
    const { isManaged, hasPods, workersMin } = parts.plan;
    this.#parts = parts;
    // Otherwise endpoints have other ranks, and places are promised.
    this.#isComparable = !isManaged && !hasPods && workersMin === 0;
  }

  /** Fleet has lost its memory: those who wait then have waited since then. */
  forget(): void {
    this.#needs = new Map();
  }

  /**
   * Of two the one gets the next worker that has fewer, and of equals the one that has lacked it longer, unless it asks
   * for more, or has used so much more before.
   */
  changed(workers: readonly WorkerRow[], desired: readonly DesiredRow[]): void {
    if (!this.#isComparable || desired.length < 2) return;
    const before = this.#needs;
    this.#needs = this.#needsOf(workers, desired);
    const counts = new Map(
      [...this.#needs].map(([endpointId, { workerIds }]) => [endpointId, workerIds.size]),
    );
    this.#holdings.push({ at: this.#parts.world.elapsedMs, counts });
    // It leaves another one behind, which is part of no order.
    if (workers.some(({ moves }) => moves !== null)) return;
    for (const [endpointId, { workerIds }] of this.#needs) {
      const own = before.get(endpointId)?.workerIds ?? new Set();
      if ([...workerIds].some((workerId) => !own.has(workerId))) this.#checkOthers(endpointId, before);
    }
  }

  #needsOf(workers: readonly WorkerRow[], desired: readonly DesiredRow[]): ReadonlyMap<string, Need> {
    return new Map(
      desired.map(({ desired: count, endpoint_id: endpointId }) => {
        const staying = workers.filter(
          ({ endpoint_id: of, retired_in: retiredIn, standby_at: standbyAt }) =>
            of === endpointId && retiredIn === null && standbyAt === null,
        );
        const since = this.#needs.get(endpointId)?.since ?? this.#parts.world.elapsedMs;
        const workerIds = new Set(staying.map(({ worker_id: workerId }) => workerId));
        return [endpointId, { since: workerIds.size < count ? since : null, workerIds }];
      }),
    );
  }

  /** One endpoint has got a worker. */
  #checkOthers(winner: string, before: ReadonlyMap<string, Need>): void {
    const now = this.#needs.get(winner);
    if (!now) return;
    const account = accountWith(this.#parts.accounts, winner);
    const winnerSince = before.get(winner)?.since ?? this.#parts.world.elapsedMs;
    for (const [endpointId, { since, workerIds }] of this.#needs) {
      if (!account || accountWith(this.#parts.accounts, endpointId) !== account) continue;
      const hasWaited = since !== null && (before.get(endpointId)?.since ?? since) < winnerSince;
      const isBehind = workerIds.size < now.workerIds.size;
      if (
        hasWaited &&
        isBehind &&
        !this.#mayHaveUsedMore(endpointId, winner) &&
        asksForNoMore(account.requirementOf(endpointId), account.requirementOf(winner))
      )
        this.#parts.violate(`${winner} got a worker before ${endpointId}, which has lacked one for longer`);
    }
  }

  /**
   * Whether from any time on `loser` had workers for so much longer that the next one was not its turn. Fleet counts from
   * when capacity became short.
   */
  #mayHaveUsedMore(loser: string, winner: string): boolean {
    const { elapsedMs } = this.#parts.world;
    const before = this.#holdings.at(-2)?.counts ?? new Map<string, number>();
    const leadMs = ((before.get(winner) ?? 0) - (before.get(loser) ?? 0)) * SLICE_MIN_MS;
    let usedMs = 0;
    let until = elapsedMs;
    for (const { at, counts } of this.#holdings.toReversed()) {
      usedMs += ((counts.get(winner) ?? 0) - (counts.get(loser) ?? 0)) * (until - at);
      until = at;
      if (leadMs + usedMs <= COUNTED_LATE_MS) return true;
    }
    return false;
  }
}

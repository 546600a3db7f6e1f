/** What holds of a rollout while it is under way. */
import type { SimulatedObject } from "../runtime/objects.ts";

type Rollout = {
  readonly since: number;
  readonly stalledSince: number | null;
  readonly eviction: { readonly at: number; readonly placed: number } | null;
};

/** `life`: of the object that wrote it. */
type Seen = { readonly json: string; readonly life: number; readonly rollout: Rollout };

const STATE = "SELECT json FROM fact WHERE name = 'rollout'";
/** A rollout whose last eviction has brought it no worker leaves the older ones for so long. */
const EVICTION_MS = 60_000;

export class Rollouts {
  readonly #violate: (what: string) => void;
  readonly #seen = new Map<string, Seen>();

  constructor(violate: (what: string) => void) {
    this.#violate = violate;
  }

  /** The object of an endpoint has written something. */
  changed({ name, storage, machine: { life } }: SimulatedObject): void {
    const [row] = storage.select(STATE) as { readonly json: string }[];
    const before = this.#seen.get(name);
    if (!row || row.json === before?.json) return;
    const { json } = row;
    const rollout = JSON.parse(json) as Rollout;
    this.#seen.set(name, { json, life, rollout });
    // What an object wrote last before it crashed may be gone.
    if (before?.life === life && before.rollout.since === rollout.since)
      this.#check(name, before.rollout, rollout);
  }

  #check(name: string, before: Rollout, after: Rollout): void {
    const { stalledSince, eviction } = before;
    if (stalledSince !== null && after.stalledSince !== null && after.stalledSince !== stalledSince)
      this.#violate(
        `the rollout of ${name} has been stalled since ${stalledSince}, then ${after.stalledSince}`,
      );
    if (!eviction || !after.eviction || after.eviction.at === eviction.at) return;
    const agoMs = after.eviction.at - eviction.at;
    if (after.eviction.placed <= eviction.placed && agoMs < EVICTION_MS)
      this.#violate(
        `the rollout of ${name} evicted a second worker after ${agoMs} ms, and got none for the first`,
      );
  }
}

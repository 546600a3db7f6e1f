/** What holds of a rolling release while it is under way. */
import type { SimulatedObject } from "../runtime/objects.ts";

type Release = {
  readonly since: number;
  readonly stalledSince: number | null;
  readonly eviction: { readonly at: number; readonly placed: number } | null;
};

/** `life`: of the object that wrote it. */
type Seen = { readonly json: string; readonly life: number; readonly release: Release };

const STATE = "SELECT json FROM fact WHERE name = 'rollout'";
/** A release whose last eviction has brought it no worker leaves the older ones for so long. */
const EVICTION_MS = 60_000;

export class Releases {
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
    const release = JSON.parse(json) as Release;
    this.#seen.set(name, { json, life, release });
    // What an object wrote last before it crashed may be gone.
    if (before?.life === life && before.release.since === release.since)
      this.#check(name, before.release, release);
  }

  #check(name: string, before: Release, after: Release): void {
    const { stalledSince, eviction } = before;
    if (stalledSince !== null && after.stalledSince !== null && after.stalledSince !== stalledSince)
      this.#violate(
        `the release of ${name} has been stalled since ${stalledSince}, then ${after.stalledSince}`,
      );
    if (!eviction || !after.eviction || after.eviction.at === eviction.at) return;
    const agoMs = after.eviction.at - eviction.at;
    if (after.eviction.placed <= eviction.placed && agoMs < EVICTION_MS)
      this.#violate(
        `the release of ${name} evicted a second worker after ${agoMs} ms, and got none for the first`,
      );
  }
}

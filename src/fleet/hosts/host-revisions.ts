/** Revisions of what hosts should have: one more, and one row, for all that a step changes on a host. */
import type { FleetStore } from "../fleet-store.ts";

export class HostRevisions {
  readonly #store: FleetStore;
  #touched = new Set<string>();
  #changed = new Set<string>();

  constructor(store: FleetStore) {
    this.#store = store;
  }

  /** The host has something new to do; returns the revision that says so. */
  touch(hostId: string): number {
    const host = this.#store.hosts.get(hostId);
    if (!host) return 0;
    if (this.#touched.has(hostId)) return host.revision;
    this.#touched.add(hostId);
    this.#changed.add(hostId);
    const revision = host.revision + 1;
    this.#store.saveHost({ ...host, revision });
    return revision;
  }

  /** What comes after may be seen by a host apart from what was before. */
  endStep(): void {
    this.#touched = new Set();
  }

  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }
}

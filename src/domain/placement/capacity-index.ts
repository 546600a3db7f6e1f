/** Hosts by how many of something they have free, so that the most or the just sufficient are found at once. */
import type { HostCapacity } from "./host-capacity.ts";

export class CapacityIndex {
  readonly #byCount = new Map<number, Set<HostCapacity>>();

  add(count: number, capacity: HostCapacity): void {
    const same = this.#byCount.get(count);
    if (same) same.add(capacity);
    else this.#byCount.set(count, new Set([capacity]));
  }

  remove(count: number, capacity: HostCapacity): void {
    const same = this.#byCount.get(count);
    same?.delete(capacity);
    if (same?.size === 0) this.#byCount.delete(count);
  }

  /** Those with at least so many, the fullest host first or last; of the same count, who waits longest. */
  *from(least: number, order: "most free" | "least free"): Generator<HostCapacity> {
    const counts = [...this.#byCount.keys()].filter((count) => count >= least);
    counts.sort(order === "most free" ? (a, b) => b - a : (a, b) => a - b);
    for (const count of counts) yield* this.#byCount.get(count) ?? [];
  }
}

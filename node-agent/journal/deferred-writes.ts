/**
 * Writes that may wait a little for a transaction that is made anyway, since a commit costs more than what is in it.
 * Each has a name, by which a later one takes its place. Those that fail are written with the next ones.
 */
import { Schedule } from "../core/schedule.ts";

/** The longest that a write waits. */
const WAIT_MS = 5;

export class DeferredWrites {
  readonly #writes = new Map<string, () => void>();
  readonly #schedule: Schedule;

  /** `writeAll` makes a transaction in which it calls `write`. */
  constructor(writeAll: () => void) {
    this.#schedule = new Schedule(writeAll);
  }

  get isEmpty(): boolean {
    return this.#writes.size === 0;
  }

  add(name: string, write: () => void): void {
    this.#writes.set(name, write);
    this.#schedule.within(WAIT_MS);
  }

  /** Makes all writes, in the transaction that is open. */
  write(): void {
    for (const write of this.#writes.values()) write();
  }

  /** None is left to write: the transaction is committed. */
  end(): void {
    this.#writes.clear();
    this.#schedule.cancel();
  }
}

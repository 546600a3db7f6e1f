/**
 * Since when workers are free, noted for an object that forgets it: a timeout that outlasts the object's memory needs
 * it. A note is true as long as the work has the same mark. Requests leave no mark: the first one after a note takes
 * it back.
 */
import { IDLE_NOTE_AFTER_MS } from "../contract/limits.ts";
import type { JobStore } from "./job-store.ts";
import type { Workload } from "./workload.ts";

/** Times are epoch ms. */
export type IdleClocks = {
  /** Since when there is no work at all; null while there is. */
  readonly idleSinceAt: number | null;
  readonly freeSince: readonly (readonly [workerId: string, at: number])[];
};

type Note = IdleClocks & { readonly mark: string };

export type IdleNoteParts = {
  readonly store: Pick<JobStore, "readFact" | "writeFact" | "removeFact">;
  readonly work: Pick<Workload, "mark" | "moves" | "busy">;
};

export class IdleNote {
  readonly #parts: IdleNoteParts;
  /** The latest clock that the note holds; 0 without one. */
  #notedUntil = 0;
  /** Of requests, as seen last, and when they last differed. */
  #moves = 0;
  #movedAt = 0;

  constructor(parts: IdleNoteParts) {
    this.#parts = parts;
  }

  /** The clocks as they were noted; undefined when there was other work since, or no note. */
  recover(): IdleClocks | undefined {
    const { store, work } = this.#parts;
    this.#moves = work.moves;
    const note = store.readFact<Note>("idle");
    if (note?.mark !== work.mark) return undefined;
    this.#notedUntil = latestOf(note);
    return note;
  }

  /** To be called at the end of every turn. */
  follow(now: number): void {
    const { work, store } = this.#parts;
    if (work.moves === this.#moves) return;
    this.#moves = work.moves;
    this.#movedAt = now;
    if (this.#notedUntil > 0) store.removeFact("idle");
    this.#notedUntil = 0;
  }

  /** Notes clocks that nobody has touched for a while; returns when to look again, null for never. */
  keep({ idleSinceAt, freeSince }: IdleClocks, now: number): number | null {
    const { work, store } = this.#parts;
    const note = {
      mark: work.mark,
      idleSinceAt,
      freeSince: freeSince.filter(([workerId]) => !work.busy.has(workerId)),
    };
    const changedAt = Math.max(this.#movedAt, latestOf(note));
    if (changedAt <= this.#notedUntil) return null;
    if (now < changedAt + IDLE_NOTE_AFTER_MS) return changedAt + IDLE_NOTE_AFTER_MS;
    store.writeFact("idle", note);
    this.#notedUntil = changedAt;
    return null;
  }
}

function latestOf({ idleSinceAt, freeSince }: IdleClocks): number {
  return Math.max(idleSinceAt ?? 0, ...freeSince.map(([, at]) => at));
}

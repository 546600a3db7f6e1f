/**
 * Since when workers are free, noted in the ledger's checkpoint for an object that forgets it: a timeout that outlasts
 * the object's memory needs it. A note is true as long as the work has the same mark. Requests leave no mark: the first
 * one after a note takes it back.
 */
import { IDLE_NOTE_AFTER_MS } from "../contract/limits.ts";
import type { IdleClocks } from "./idle-clocks.ts";
import type { QueueLedger } from "./queue-ledger.ts";
import type { Workload } from "./workload.ts";

export type IdleNoteParts = {
  readonly ledger: Pick<QueueLedger, "idle" | "noteIdle">;
  readonly work: Pick<Workload, "mark" | "busy" | "requests">;
};

export class IdleNote {
  readonly #parts: IdleNoteParts;
  /** The latest clock that the note holds; 0 without one. */
  #notedUntil = 0;
  /** Of requests, as seen last. */
  #moves = 0;

  constructor(parts: IdleNoteParts) {
    this.#parts = parts;
  }

  /** The clocks as they were noted; undefined when there was other work since, or no note. */
  recover(): IdleClocks | undefined {
    const { ledger, work } = this.#parts;
    this.#moves = work.requests.moves;
    const note = ledger.idle;
    if (note?.mark !== work.mark) return undefined;
    this.#notedUntil = latestOf(note);
    return note;
  }

  /** To be called at the end of every turn. */
  follow(): void {
    const { work, ledger } = this.#parts;
    const { moves } = work.requests;
    if (moves === this.#moves) return;
    this.#moves = moves;
    if (this.#notedUntil > 0) ledger.noteIdle(null);
    this.#notedUntil = 0;
  }

  /** Notes clocks that nobody has touched for a while; returns when to look again, null for never. */
  keep({ idleSinceAt, freeSince }: IdleClocks, now: number): number | null {
    const { work, ledger } = this.#parts;
    const note = {
      mark: work.mark,
      idleSinceAt,
      freeSince: freeSince.filter(([workerId]) => !work.busy.has(workerId)),
    };
    const { movedAt, noteAt } = work.requests;
    const latest = latestOf(note);
    const changedAt = Math.max(movedAt, latest);
    if (changedAt <= this.#notedUntil) return null;
    const dueAt = latest > movedAt ? latest + IDLE_NOTE_AFTER_MS : noteAt;
    if (dueAt === null || now < dueAt) return dueAt;
    ledger.noteIdle(note);
    this.#notedUntil = changedAt;
    return null;
  }
}

function latestOf({ idleSinceAt, freeSince }: IdleClocks): number {
  return Math.max(idleSinceAt ?? 0, ...freeSince.map(([, at]) => at));
}

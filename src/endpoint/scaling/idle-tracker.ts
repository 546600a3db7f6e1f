/**
 * Since when workers are free, noted in the ledger's checkpoint for an object that forgets it: a timeout that outlasts
 * the object's memory needs it. A note is true as long as the work has the same mark. Requests leave no mark: the first
 * one after a note takes it back.
 */
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { Workload } from "./workload.ts";

/** An idle endpoint stores its idle times after this time: before it may hibernate, which it does after 10 s. */
export const IDLE_STORE_AFTER_MS = 8_000;

export type IdleTrackerParts = {
  readonly ledger: Pick<QueueLedger, "idle" | "storeIdle">;
  readonly work: Pick<Workload, "fingerprint" | "busy" | "requests">;
};

export class IdleTracker {
  readonly #parts: IdleTrackerParts;
  /** The latest clock that the note holds; 0 without one. */
  #storedUntil = 0;
  /** Of requests, as seen last. */
  #moves = 0;

  constructor(parts: IdleTrackerParts) {
    this.#parts = parts;
  }

  /** The clocks as they were noted; undefined when there was other work since, or no note. */
  recover(): IdleTimes | undefined {
    const { ledger, work } = this.#parts;
    this.#moves = work.requests.moves;
    const stored = ledger.idle;
    if (stored?.mark !== work.fingerprint) return undefined;
    this.#storedUntil = latestOf(stored);
    return stored;
  }

  /** To be called at the end of every turn. */
  follow(): void {
    const { work, ledger } = this.#parts;
    const { moves } = work.requests;
    if (moves === this.#moves) return;
    this.#moves = moves;
    if (this.#storedUntil > 0) ledger.storeIdle(null);
    this.#storedUntil = 0;
  }

  /** Notes clocks that nobody has touched for a while; returns when to look again, null for never. */
  keep({ idleSinceAt, freeSince }: IdleTimes, now: number): number | null {
    const { work, ledger } = this.#parts;
    const stored = {
      mark: work.fingerprint,
      idleSinceAt,
      freeSince: freeSince.filter(([workerId]) => !work.busy.has(workerId)),
    };
    const { movedAt, checkpointDueAt } = work.requests;
    const latest = latestOf(stored);
    const changedAt = Math.max(movedAt, latest);
    if (changedAt <= this.#storedUntil) return null;
    const dueAt = latest > movedAt ? latest + IDLE_STORE_AFTER_MS : checkpointDueAt;
    if (dueAt === null || now < dueAt) return dueAt;
    ledger.storeIdle(stored);
    this.#storedUntil = changedAt;
    return null;
  }
}

function latestOf({ idleSinceAt, freeSince }: IdleTimes): number {
  return Math.max(idleSinceAt ?? 0, ...freeSince.map(([, at]) => at));
}

/** Since when workers are free; times are epoch ms. */
export type IdleTimes = {
  /** Since when there is no work at all; null while there is. */
  readonly idleSinceAt: number | null;
  readonly freeSince: readonly (readonly [workerId: string, at: number])[];
};

/** The clocks as a checkpoint has them: true as long as the work has the same mark. */
export type StoredIdleTimes = IdleTimes & { readonly mark: string };

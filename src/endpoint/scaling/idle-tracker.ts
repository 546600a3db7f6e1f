/**
 * Idle times of workers in the checkpoint of the ledger: an idle timeout may outlast the object's memory. Stored times
 * are valid as long as the work has the same fingerprint. Requests do not change that: the first one discards them.
 */
import type { IdleTimes, QueueLedger } from "../queue/queue-ledger.ts";
import type { Workload } from "./workload.ts";

/** An idle endpoint stores its idle times after this time: before it may hibernate, which it does after 10 s. */
export const IDLE_STORE_AFTER_MS = 8_000;

export type IdleTrackerParts = {
  readonly ledger: Pick<QueueLedger, "idle" | "storeIdle">;
  readonly work: Pick<Workload, "fingerprint" | "busy" | "requests">;
};

export class IdleTracker {
  readonly #parts: IdleTrackerParts;
  /** The latest of the stored times; 0 when none are stored. */
  #storedUntil = 0;
  /** Moves of requests as last seen. */
  #moves = 0;

  constructor(parts: IdleTrackerParts) {
    this.#parts = parts;
  }

  /** The stored times; undefined when there are none, or there was work since. */
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

  /** Stores times that have not changed for a while; returns when to call again, null for never. */
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

/**
 * What an exchange sends, decided from the state of the host and the turns that are still open.
 *
 * X1  A slot is offered by one long-poll turn (the newest) or one immediate turn, never by both.
 *     The edge answers an older long-poll turn as soon as a newer one arrives, so the newest offers them all.
 * X2  A large report travels alone.
 */
import type { EncodedAttempt } from "../journal/attempt-ledger.ts";
import { withMember } from "../journal/report.ts";

/** Most bytes of progress in one exchange; the rest goes with a later one. */
const EXCHANGE_PROGRESS_MAX_BYTES = 2 * 1_000_000;

/** Most bytes of reports in one exchange; large results are uploaded before. */
const EXCHANGE_REPORTS_MAX_BYTES = 4 * 1_000_000;

export type Slot = { readonly workerId: string; readonly free: number };

export type OpenTurn = {
  readonly turn: number;
  readonly isLongPoll: boolean;
  readonly slots: readonly Slot[];
};

const BATCH_MAX_COUNT = 1_000;

/** Slots for a long-poll turn: all but those that an immediate turn offers at the moment. */
export function longPollSlots(free: readonly Slot[], open: readonly OpenTurn[]): Slot[] {
  return subtract(
    free,
    open.filter((turn) => !turn.isLongPoll),
  );
}

/** Slots for an immediate turn: those that no open turn offers. */
export function immediateSlots(free: readonly Slot[], open: readonly OpenTurn[]): Slot[] {
  return subtract(free, open);
}

export function areSameSlots(one: readonly Slot[], other: readonly Slot[]): boolean {
  const freeByWorker = new Map(one.map((slot) => [slot.workerId, slot.free]));
  return one.length === other.length && other.every((slot) => freeByWorker.get(slot.workerId) === slot.free);
}

/** The first reports that fit one exchange; a single one above the limit goes alone. */
export function batchReports<Report extends { readonly body: string }>(unsent: readonly Report[]): Report[] {
  let sizeBytes = 0;
  const batch: Report[] = [];
  for (const report of unsent.slice(0, BATCH_MAX_COUNT)) {
    sizeBytes += Buffer.byteLength(report.body);
    if (batch.length > 0 && sizeBytes > EXCHANGE_REPORTS_MAX_BYTES) break; // X2
    batch.push(report);
  }
  return batch;
}

/**
 * The host's jobs as JSON texts, with as much progress as one exchange may carry; the progress of the others has its
 * turn in another one.
 */
export function boundProgress(attempts: readonly EncodedAttempt[], turn: number): string[] {
  const begin = turn % Math.max(1, attempts.length);
  const brought = new Set<EncodedAttempt>();
  let leftBytes = EXCHANGE_PROGRESS_MAX_BYTES;
  for (const job of [...attempts.slice(begin), ...attempts.slice(0, begin)]) {
    if (job.progress === undefined) continue;
    leftBytes -= Buffer.byteLength(job.progress);
    if (leftBytes < 0) break;
    brought.add(job);
  }
  return attempts.map((job) =>
    job.progress !== undefined && brought.has(job)
      ? withMember(job.body, "progress", job.progress)
      : job.body,
  );
}

function subtract(free: readonly Slot[], turns: readonly OpenTurn[]): Slot[] {
  const offered = new Map<string, number>();
  // Several long-poll turns offer the same slots: the newest counts.
  const newestLongPoll = turns.findLast((turn) => turn.isLongPoll);
  for (const turn of turns) {
    if (turn.isLongPoll && turn !== newestLongPoll) continue;
    for (const slot of turn.slots) offered.set(slot.workerId, (offered.get(slot.workerId) ?? 0) + slot.free);
  }
  return free
    .map((slot) => ({ workerId: slot.workerId, free: slot.free - (offered.get(slot.workerId) ?? 0) }))
    .filter((slot) => slot.free > 0);
}

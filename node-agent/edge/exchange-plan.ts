/**
 * What an exchange says, decided from the state of the host and the turns that are still open.
 *
 * X1  A slot is offered by one holding turn (the newest) or one immediate turn, never by both.
 *     The edge answers an older holding turn as soon as a newer one arrives, so the newest offers them all.
 * X2  A large report travels alone.
 */
export type Slot = { readonly workerId: string; readonly free: number };

export type OpenTurn = {
  readonly turn: number;
  readonly isHolding: boolean;
  readonly slots: readonly Slot[];
};

const BATCH_MAX_BYTES = 8_000_000;
const BATCH_MAX_COUNT = 1_000;

/** Slots for a holding turn: all but those that an immediate turn offers at the moment. */
export function slotsToHold(free: readonly Slot[], open: readonly OpenTurn[]): Slot[] {
  return subtract(
    free,
    open.filter((turn) => !turn.isHolding),
  );
}

/** Slots for an immediate turn: those that no open turn offers. */
export function slotsToOfferNow(free: readonly Slot[], open: readonly OpenTurn[]): Slot[] {
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
    sizeBytes += report.body.length;
    if (batch.length > 0 && sizeBytes > BATCH_MAX_BYTES) break; // X2
    batch.push(report);
  }
  return batch;
}

function subtract(free: readonly Slot[], turns: readonly OpenTurn[]): Slot[] {
  const offered = new Map<string, number>();
  // Several holding turns offer the same slots: the newest counts.
  const newestHold = turns.findLast((turn) => turn.isHolding);
  for (const turn of turns) {
    if (turn.isHolding && turn !== newestHold) continue;
    for (const slot of turn.slots) offered.set(slot.workerId, (offered.get(slot.workerId) ?? 0) + slot.free);
  }
  return free
    .map((slot) => ({ workerId: slot.workerId, free: slot.free - (offered.get(slot.workerId) ?? 0) }))
    .filter((slot) => slot.free > 0);
}

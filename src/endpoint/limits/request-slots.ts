/**
 * The requests of one operation that are in progress. A request has one slot for as long as it lasts, and
 * is in one of three places:
 *
 * S1  In a call inside the object. The call's end gives the slot back, or hands it over to S2.
 * S2  Between the object and a doorbell, in either direction, for a moment. If nobody comes, the client has
 *     gone or its Worker script has; HANDOVER_MS later the slot is free.
 * S3  On a doorbell. The open socket is the slot, so it outlasts the object's memory and ends with the
 *     client.
 *
 * Every handover has an id of its own, so that what is said late of an earlier one changes nothing.
 */

/** Far more than the way from an answer to the next call takes, also in a crowd. */
const HANDOVER_MS = 5_000;

type Outside = { readonly untilAt: number; readonly isWaiting: boolean };

export class RequestSlots {
  #inside = 0;
  readonly #outside = new Map<string, Outside>();

  isFull(limit: number, now: number): boolean {
    if (this.#inside + this.#outside.size < limit) return false;
    return this.count(now) >= limit;
  }

  /** Requests in progress. */
  count(now: number): number {
    for (const [id, { untilAt }] of this.#outside) if (untilAt <= now) this.#outside.delete(id);
    return this.#inside + this.#outside.size;
  }

  enter(): void {
    this.#inside += 1;
  }

  leave(): void {
    this.#inside -= 1;
  }

  /** The caller goes on waiting elsewhere, under this id. */
  handOver(id: string, now: number): void {
    this.#inside -= 1;
    this.#outside.set(id, { untilAt: now + HANDOVER_MS, isWaiting: false });
  }

  /** The caller is back, known or not: what memory lost was admitted all the same. */
  resume(id: string): void {
    this.#outside.delete(id);
    this.#inside += 1;
  }

  /** The caller waits on a doorbell, until `untilAt` at the latest. */
  waitOnChannel(id: string, untilAt: number): void {
    this.#outside.set(id, { untilAt: untilAt + HANDOVER_MS, isWaiting: true });
  }

  /** The doorbell rang: the caller is on its way back. */
  notified(id: string, now: number): void {
    this.#outside.set(id, { untilAt: now + HANDOVER_MS, isWaiting: false });
  }

  /** The doorbell closed. A caller whose bell had rung before comes back and keeps its slot. */
  closed(id: string): void {
    if (this.#outside.get(id)?.isWaiting) this.#outside.delete(id);
  }
}

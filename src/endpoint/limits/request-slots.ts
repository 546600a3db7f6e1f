/**
 * The requests of one operation that are in progress. A request has one slot for as long as it lasts, in one of three
 * states:
 *
 * S1  In a call inside the object. The call's end gives the slot back, or moves it to S2.
 * S2  Between the object and a wake-up channel, in either direction, for a moment. If the client does not come, it or its
 *     Worker script is gone; HANDOVER_MS later the slot is free.
 * S3  On a wake-up channel. The open socket is the slot, so it outlasts the object's memory and ends with the client.
 *
 * Every handover has its own id, so that a late event of an earlier one changes nothing.
 */

/** Far more than the time from an answer to the next call, also under load. */
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

  /** The caller continues to wait elsewhere, under this id. */
  moveOutside(id: string, now: number): void {
    this.#inside -= 1;
    this.#outside.set(id, { untilAt: now + HANDOVER_MS, isWaiting: false });
  }

  /** The caller is back, known or not: a request that memory has lost was admitted too. */
  resume(id: string): void {
    this.#outside.delete(id);
    this.#inside += 1;
  }

  /** The caller waits on a wake-up channel, until `untilAt` at the latest. */
  waitOnChannel(id: string, untilAt: number): void {
    this.#outside.set(id, { untilAt: untilAt + HANDOVER_MS, isWaiting: true });
  }

  /** The caller was notified and is on its way back. */
  notified(id: string, now: number): void {
    this.#outside.set(id, { untilAt: now + HANDOVER_MS, isWaiting: false });
  }

  /** The wake-up channel closed. A caller that was notified before calls again and keeps its slot. */
  closed(id: string): void {
    if (this.#outside.get(id)?.isWaiting) this.#outside.delete(id);
  }
}

/** Requests that wait for a worker. The open socket is the record, so the count outlasts the object's memory. */
import { Doorbells, type Doorbell } from "../../durable/doorbells.ts";
import type { Affinity } from "./messages.ts";

export type DirectWaiter = {
  readonly directId: string;
  readonly affinity: Affinity | null;
};

const TAG = "direct";

export class DirectBells {
  readonly #bells: Doorbells<DirectWaiter>;
  readonly #waiting = new Set<string>();

  constructor(context: DurableObjectState) {
    this.#bells = new Doorbells(context);
  }

  recover(): void {
    for (const { waiter } of this.#bells.find(TAG)) this.#waiting.add(waiter.directId);
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Waits, unless there is something to look at already. */
  open(waiter: DirectWaiter, hasNews: boolean): Response {
    const { response, ring } = this.#bells.accept([TAG], waiter);
    if (hasNews) ring("look");
    else this.#waiting.add(waiter.directId);
    return response;
  }

  /** Rings for those of whom `isServed` says so, the first come first. */
  ring(isServed: (waiter: DirectWaiter) => boolean): void {
    if (this.#waiting.size === 0) return;
    for (const bell of this.#bells.find(TAG)) if (isServed(bell.waiter)) this.#ring(bell);
  }

  /** False when the socket was none of a waiting request. */
  closed(socket: WebSocket): boolean {
    const waiter = socket.deserializeAttachment() as Partial<DirectWaiter> | null;
    if (waiter?.directId === undefined) return false;
    return this.#waiting.delete(waiter.directId);
  }

  #ring({ waiter, ring }: Doorbell<DirectWaiter>): void {
    this.#waiting.delete(waiter.directId);
    ring("look");
  }
}

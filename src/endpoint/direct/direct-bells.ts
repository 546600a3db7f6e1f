/** Requests that wait for a worker. The open socket is the record, so the count outlasts the object's memory. */
import { Doorbells, type Doorbell } from "../../durable/doorbells.ts";
import type { Affinity } from "./messages.ts";

export type DirectWaiter = {
  readonly directId: string;
  readonly affinity: Affinity | null;
  /** Since when it waits, and until when; epoch ms. */
  readonly sinceAt: number;
  readonly untilAt: number;
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

  /** A socket has closed; returns who waited there, if nobody had rung. */
  hungUp(socket: WebSocket): DirectWaiter | undefined {
    if (this.#waiting.size === 0) return undefined;
    const waiter = socket.deserializeAttachment() as DirectWaiter | { readonly directId?: undefined } | null;
    return waiter?.directId !== undefined && this.#waiting.delete(waiter.directId) ? waiter : undefined;
  }

  #ring({ waiter, ring }: Doorbell<DirectWaiter>): void {
    this.#waiting.delete(waiter.directId);
    ring("look");
  }
}

/** Reads `direct=<requestId>&affinity=<mode>:<workerId>&until=<epoch ms>`, as the gateway writes it. */
export function readDirectWaiter(query: URLSearchParams, now: number): DirectWaiter {
  return {
    directId: query.get("direct") ?? "",
    affinity: readAffinity(query.get("affinity")),
    sinceAt: now,
    untilAt: Number(query.get("until")),
  };
}

export function readAffinity(text: string | null): Affinity | null {
  if (!text) return null;
  const [mode = "", ...rest] = text.split(":");
  return { mode: mode as Affinity["mode"], workerId: rest.join(":") };
}

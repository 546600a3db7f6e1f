/** Requests that wait for a worker. The open sockets are the record, so the count outlasts the object's memory. */
import { WakeUpChannels, type WakeUpChannel } from "../../durable/waiters.ts";
import type { Affinity } from "../../forwarding/messages.ts";
import { readAffinity } from "../../forwarding/upgrade-call.ts";

export type RequestWaiter = {
  readonly requestId: string;
  readonly affinity: Affinity | null;
  /** Since when it waits, and until when; epoch ms. */
  readonly sinceAt: number;
  readonly untilAt: number;
};

const TAG = "direct";

export class WaitingRequests {
  readonly #channels: WakeUpChannels<RequestWaiter>;
  readonly #waiting = new Set<string>();

  constructor(context: DurableObjectState) {
    this.#channels = new WakeUpChannels(context);
  }

  recover(): void {
    for (const { waiter } of this.#channels.find(TAG)) this.#waiting.add(waiter.requestId);
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Waits, unless there is news already. */
  open(waiter: RequestWaiter, hasNews: boolean): Response {
    const { response, notify } = this.#channels.accept([TAG], waiter);
    if (hasNews) notify("look");
    else this.#waiting.add(waiter.requestId);
    return response;
  }

  /** Notifies the requests that can be served, in the order in which they came. */
  notify(isServed: (waiter: RequestWaiter) => boolean): void {
    if (this.#waiting.size === 0) return;
    for (const channel of this.#channels.find(TAG)) if (isServed(channel.waiter)) this.#notify(channel);
  }

  /** A socket has closed; returns the request that waited on it, unless it was notified. */
  closed(socket: WebSocket): RequestWaiter | undefined {
    if (this.#waiting.size === 0) return undefined;
    const waiter = socket.deserializeAttachment() as
      | RequestWaiter
      | { readonly requestId?: undefined }
      | null;
    return waiter?.requestId !== undefined && this.#waiting.delete(waiter.requestId) ? waiter : undefined;
  }

  #notify({ waiter, notify }: WakeUpChannel<RequestWaiter>): void {
    this.#waiting.delete(waiter.requestId);
    notify("look");
  }
}

/** Reads `direct=<requestId>&affinity=<mode>:<workerId>&until=<epoch ms>`, as the gateway writes it. */
export function readRequestWaiter(query: URLSearchParams, now: number): RequestWaiter {
  return {
    requestId: query.get("direct") ?? "",
    affinity: readAffinity(query.get("affinity")),
    sinceAt: now,
    untilAt: Number(query.get("until")),
  };
}

/** Load-balanced requests: each gets a worker and a stream on the link of its host, or has to wait. */
import type { ResetReason } from "../../link/link-messages.ts";
import {
  Forwarder,
  type Rejections,
  type Target,
  type UpgradeCall,
  type UpgradeReply,
} from "../../forwarding/forwarder.ts";
import type { Affinity, NoWorker, ForwardCall, ForwardReply } from "../../forwarding/messages.ts";
import type { Sockets } from "../../forwarding/sockets.ts";
import type { Streams } from "../../forwarding/streams.ts";
import { readRequestWaiter, type RequestWaiter, type WaitingRequests } from "./waiting-requests.ts";
import { LOAD_BALANCED_WAITING_MAX } from "../limits/request-limits.ts";
import type { Autoscaler } from "../scaling/autoscaler.ts";
import type { OpenWorkers } from "./open-workers.ts";
import type { RequestTracker } from "./request-tracker.ts";
import type { ScalingReview } from "./scaling-review.ts";

/** Requests of an endpoint that workers have at once. */
export const LOAD_BALANCED_REQUESTS_MAX = 1_000;

export type ForwardHandlersParts = {
  readonly scaling: Pick<Autoscaler, "availabilityOf" | "resume">;
  readonly requests: RequestTracker;
  readonly streams: Streams;
  readonly sockets: Sockets;
  readonly waitingRequests: WaitingRequests;
  readonly workers: OpenWorkers;
  readonly review: Pick<ScalingReview, "now">;
  /** Runs work in the next turn, without waiting for it. */
  readonly inTurn: (work: () => void) => void;
};

export class ForwardHandlers {
  readonly #parts: ForwardHandlersParts;
  readonly #forwarder: Forwarder;

  constructor(parts: ForwardHandlersParts) {
    this.#parts = parts;
    const { streams, sockets } = parts;
    this.#forwarder = new Forwarder({
      streams,
      sockets,
      choose: (call, refused) => this.#choose(call, refused),
    });
  }

  forward(call: ForwardCall): Promise<ForwardReply> {
    return this.#forwarder.forward(call);
  }

  upgrade(call: UpgradeCall): Promise<UpgradeReply> {
    return this.#forwarder.upgrade(call);
  }

  abort(requestId: string, reason: ResetReason): void {
    this.#forwarder.abort(requestId, reason);
  }

  // Waiting

  /** After a loss of memory. */
  recover(): void {
    const { waitingRequests, requests } = this.#parts;
    waitingRequests.recover();
    requests.waiting = waitingRequests.count;
  }

  /** Opens the wake-up channel of `?direct=…`; notifies at once when waiting is not necessary, or no use. */
  openChannel(query: URLSearchParams, now: number): Response {
    const { waitingRequests, requests } = this.#parts;
    const waiter = readRequestWaiter(query, now);
    const response = waitingRequests.open(
      waiter,
      requests.waiting >= LOAD_BALANCED_WAITING_MAX || this.#isServed(waiter),
    );
    this.#countWaiting();
    return response;
  }

  /** Notifies requests that need not wait any longer, or whose wait cannot succeed. */
  notify(): void {
    if (this.#parts.waitingRequests.count === 0) return;
    let free = LOAD_BALANCED_REQUESTS_MAX - this.#parts.streams.count;
    this.#parts.waitingRequests.notify((waiter) => free > 0 && this.#isServed(waiter) && (free -= 1) >= 0);
    this.#countWaiting();
  }

  /** A socket has closed; a request that waited without success is counted. False for other sockets. */
  closed(socket: WebSocket, now: number): boolean {
    const waiter = this.#parts.waitingRequests.closed(socket);
    if (!waiter) return false;
    const outcome = now >= waiter.untilAt ? "timed_out" : "cancelled";
    const end = { outcome, receivedAt: waiter.sinceAt, startedAt: null, endedAt: now } as const;
    this.#parts.inTurn(() => this.#parts.requests.ended(null, end));
    this.#countWaiting();
    return true;
  }

  #isServed({ affinity }: RequestWaiter): boolean {
    const { workers } = this.#parts;
    if (workers.choose(affinity, Date.now())) return true;
    return workers.absence(affinity).kind !== "wait";
  }

  #countWaiting(): void {
    const { requests, waitingRequests, review } = this.#parts;
    if (requests.waiting === waitingRequests.count) return;
    requests.waiting = waitingRequests.count;
    review.now();
  }

  // Placing

  /** Chooses a worker, other than those that refused the request. */
  #choose({ affinity }: UpgradeCall, refused: Rejections): Target | NoWorker {
    const { streams, workers, requests } = this.#parts;
    if (streams.count >= LOAD_BALANCED_REQUESTS_MAX)
      return { kind: "overloaded", limit: LOAD_BALANCED_REQUESTS_MAX };
    const worker = workers.choose(affinity, Date.now(), refused);
    if (worker) {
      workers.used(worker.workerId);
      return { kind: "target", workerId: worker.workerId, link: worker.link };
    }
    this.#wakeRequested(affinity);
    const absence = workers.absence(affinity);
    const isFull = absence.kind === "wait" && requests.waiting >= LOAD_BALANCED_WAITING_MAX;
    return isFull ? { kind: "overloaded", limit: LOAD_BALANCED_WAITING_MAX } : absence;
  }

  /** A worker on standby is resumed for a request that asks for that. */
  #wakeRequested(affinity: Affinity | null): void {
    const { scaling, inTurn } = this.#parts;
    if (affinity?.mode !== "resume" || scaling.availabilityOf(affinity.workerId) !== "standby") return;
    inTurn(() => scaling.resume(affinity.workerId));
  }
}

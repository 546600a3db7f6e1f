/** Load-balanced requests: each gets a worker and a stream on the link of its host, or has to wait. */
import { WindowBudget, LINK_WINDOW_BYTES, LINK_WINDOWS_BUDGET_BYTES } from "../../link/link-window.ts";
import type { Reset, ResetReason } from "../../link/link-messages.ts";
import { readRequestWaiter, type RequestWaiter, type WaitingRequests } from "./waiting-requests.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import { LOAD_BALANCED_WAITING_MAX } from "../limits/request-limits.ts";
import type { Autoscaler } from "../scaling/autoscaler.ts";
import type { RequestTracker } from "./request-tracker.ts";
import { HttpStream, type HttpReply } from "./http-stream.ts";
import type { Link } from "./links.ts";
import type { Affinity, NoWorker, ForwardCall, ForwardFailure, ForwardReply } from "./messages.ts";
import type { OpenWorker, OpenWorkers } from "./open-workers.ts";
import { RequestSource } from "./request-body.ts";
import type { Sockets } from "./sockets.ts";
import type { PlacedRequest, Streams } from "./streams.ts";
import { UpgradeStream, type Opened } from "./upgrade-stream.ts";

/** Requests of an endpoint that workers have at once. */
export const LOAD_BALANCED_REQUESTS_MAX = 1_000;

export type ForwardHandlersParts = {
  readonly scaling: Pick<Autoscaler, "availabilityOf" | "resume">;
  readonly requests: RequestTracker;
  readonly streams: Streams;
  readonly sockets: Sockets;
  readonly waitingRequests: WaitingRequests;
  readonly workers: OpenWorkers;
  /** Runs work in the next turn, without waiting for it. */
  readonly inTurn: (work: () => void) => void;
};

export type UpgradeCall = Omit<ForwardCall, "body">;
export type UpgradeReply = NoWorker | Exclude<HttpReply, { readonly kind: "returned" }> | Opened;

type Placed = { readonly kind: "placed"; readonly link: Link; readonly request: PlacedRequest };

export class ForwardHandlers {
  readonly #parts: ForwardHandlersParts;
  readonly #budget = new WindowBudget(LINK_WINDOWS_BUDGET_BYTES);
  /** Requests that were ended before they arrived. */
  readonly #aborted = new BoundedMap<Reset>(ABORTED_MAX);

  constructor(parts: ForwardHandlersParts) {
    this.#parts = parts;
  }

  /** Forwards a request to a worker; resolves with its answer as soon as that has begun. */
  async forward(call: ForwardCall): Promise<ForwardReply> {
    const body = readable(call);
    let opened: ForwardFailure | undefined;
    for (const refused = new Set<string>(); ;) {
      const place = this.#place(call, refused);
      if (place.kind !== "placed") return opened ?? place;
      const stream = this.#begin(place, refused.size === 0);
      stream.send(call.head, body);
      const reply = await stream.reply;
      if (reply.kind !== "returned") return reply;
      refused.add(stream.workerId);
      if (body instanceof RequestSource) opened = reply.why; // its caller cannot open it again
    }
  }

  /** The same for a WebSocket. A worker that does not upgrade answers as to any request. */
  async upgrade(call: UpgradeCall): Promise<UpgradeReply> {
    for (const refused = new Set<string>(); ;) {
      const place = this.#place(call, refused);
      if (place.kind !== "placed") return place;
      const stream = this.#beginUpgrade(place, refused.size === 0);
      stream.send(call.head);
      const reply = await stream.reply;
      if (reply.kind !== "returned") return reply;
      refused.add(stream.workerId);
    }
  }

  /** Ends a request; an unknown one may have been overtaken by this call. */
  abort(requestId: string, reason: ResetReason): void {
    const reset = { reason, detail: ABORTED[reason] ?? "The request was ended." };
    if (!this.#parts.streams.break(requestId, reset)) this.#aborted.set(requestId, reset);
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
    const { requests, waitingRequests, streams } = this.#parts;
    if (requests.waiting === waitingRequests.count) return;
    requests.waiting = waitingRequests.count;
    streams.reviewScaling();
  }

  // Placing

  /** Chooses a worker, other than those that refused the request. */
  #place(call: UpgradeCall, refused: ReadonlySet<string>): Placed | NoWorker | ForwardFailure {
    const { streams, workers, requests } = this.#parts;
    const now = Date.now();
    const aborted = this.#aborted.get(call.requestId);
    if (aborted) return { kind: "failed", ...aborted, workerId: null };
    if (streams.count >= LOAD_BALANCED_REQUESTS_MAX)
      return { kind: "overloaded", limit: LOAD_BALANCED_REQUESTS_MAX };
    const worker = workers.choose(call.affinity, now, refused);
    if (worker) {
      workers.used(worker.workerId);
      return placeOf(call, worker, now);
    }
    this.#wakeRequested(call.affinity);
    const absence = workers.absence(call.affinity);
    const isFull = absence.kind === "wait" && requests.waiting >= LOAD_BALANCED_WAITING_MAX;
    return isFull ? { kind: "overloaded", limit: LOAD_BALANCED_WAITING_MAX } : absence;
  }

  /** A worker on standby is resumed for a request that asks for that. */
  #wakeRequested(affinity: Affinity | null): void {
    const { scaling, inTurn } = this.#parts;
    if (affinity?.mode !== "resume" || scaling.availabilityOf(affinity.workerId) !== "standby") return;
    inTurn(() => scaling.resume(affinity.workerId));
  }

  #begin({ link, request }: Placed, isNew: boolean): HttpStream {
    return this.#parts.streams.begin(
      link,
      request,
      isNew,
      (port) => new HttpStream(request, port, this.#budget),
    );
  }

  #beginUpgrade({ link, request }: Placed, isNew: boolean): UpgradeStream {
    const { streams, sockets } = this.#parts;
    return streams.begin(link, request, isNew, (port) => {
      const http = new HttpStream(request, port, this.#budget);
      const attachment = { ...request, stream: port.id, hostId: link.hostId, open: LINK_WINDOW_BYTES };
      return new UpgradeStream(http, port, () => {
        const { client, stream } = sockets.open(attachment, port);
        port.become(stream);
        return client;
      });
    });
  }
}

function readable({ body, bodyBytes = null }: ForwardCall): Uint8Array | RequestSource | null {
  return body === null || body instanceof Uint8Array ? body : new RequestSource(body, bodyBytes !== null);
}

function placeOf(
  { requestId, receivedAt }: UpgradeCall,
  { workerId, link }: OpenWorker,
  now: number,
): Placed {
  return { kind: "placed", link, request: { requestId, workerId, receivedAt, startedAt: now } };
}

const ABORTED_MAX = 1_000;

const ABORTED: Partial<Record<ResetReason, string>> = {
  aborted: "The client is gone.",
  timeout: "The worker took too long.",
};

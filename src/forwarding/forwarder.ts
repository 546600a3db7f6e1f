/** Requests for workers or pods: each gets a stream on the link of its host. */
import { BoundedMap } from "../domain/limits/bounded-map.ts";
import { encodeCredit, FRAME } from "../link/link-frame.ts";
import type { Reset, ResetReason } from "../link/link-messages.ts";
import { LINK_WINDOW_BYTES, LINK_WINDOWS_BUDGET_BYTES, WindowBudget } from "../link/link-window.ts";
import { type HttpReply, HttpStream } from "./http-stream.ts";
import type { Link } from "./links.ts";
import type { ForwardCall, ForwardFailure, ForwardReply, NoWorker } from "./messages.ts";
import { RequestSource } from "./request-body.ts";
import type { Sockets } from "./sockets.ts";
import type { PlacedRequest, Streams } from "./streams.ts";
import { type Opened, UpgradeStream } from "./upgrade-stream.ts";

export type UpgradeCall = Omit<ForwardCall, "body">;
export type UpgradeReply = NoWorker | Exclude<HttpReply, { readonly kind: "returned" }> | Opened;

/** What a request gets: a worker, and the link of its host. */
export type Target = { readonly kind: "target"; readonly workerId: string; readonly link: Link };

/** Workers that refused a request, and why. */
export type Rejections = ReadonlyMap<string, ForwardFailure>;

export type ForwarderParts = {
  readonly streams: Streams;
  readonly sockets: Sockets;
  /** Chooses a worker, other than those that refused the request. */
  readonly choose: (call: UpgradeCall, refused: Rejections) => Target | NoWorker | ForwardFailure;
  /** Bytes that the agent may have on their way to one WebSocket; LINK_WINDOW_BYTES unless it is given. */
  readonly socketWindowBytes?: number;
};

type Placed = { readonly kind: "placed"; readonly link: Link; readonly request: PlacedRequest };

export class Forwarder {
  readonly #parts: ForwarderParts;
  readonly #budget = new WindowBudget(LINK_WINDOWS_BUDGET_BYTES);
  /** Requests that were ended before they arrived. */
  readonly #aborted = new BoundedMap<Reset>(ABORTED_MAX);

  constructor(parts: ForwarderParts) {
    this.#parts = parts;
  }

  /** Forwards a request to a worker; resolves with its answer as soon as that has begun. */
  async forward(call: ForwardCall): Promise<ForwardReply> {
    const body = readable(call);
    let opened: ForwardFailure | undefined;
    for (const refused = new Map<string, ForwardFailure>(); ;) {
      const place = this.#place(call, refused);
      if (place.kind !== "placed") return opened ?? place;
      const stream = this.#begin(place, refused.size === 0);
      stream.send(call.head, body);
      const reply = await stream.reply;
      if (reply.kind !== "returned") return reply;
      refused.set(stream.workerId, reply.why);
      if (body instanceof RequestSource) opened = reply.why; // its caller cannot open it again
    }
  }

  /** The same for a WebSocket. A worker that does not upgrade answers as to any request. */
  async upgrade(call: UpgradeCall): Promise<UpgradeReply> {
    for (const refused = new Map<string, ForwardFailure>(); ;) {
      const place = this.#place(call, refused);
      if (place.kind !== "placed") return place;
      const stream = this.#beginUpgrade(place, refused.size === 0);
      stream.send(call.head);
      const reply = await stream.reply;
      if (reply.kind !== "returned") return reply;
      refused.set(stream.workerId, reply.why);
    }
  }

  /** Ends a request; an unknown one may have been overtaken by this call. */
  abort(requestId: string, reason: ResetReason): void {
    const reset = { reason, detail: ABORTED[reason] ?? "The request was ended." };
    if (!this.#parts.streams.break(requestId, reset)) this.#aborted.set(requestId, reset);
  }

  #place(call: UpgradeCall, refused: Rejections): Placed | NoWorker | ForwardFailure {
    const { requestId, port, receivedAt } = call;
    const aborted = this.#aborted.get(requestId);
    if (aborted) return { kind: "failed", ...aborted, workerId: null };
    const target = this.#parts.choose(call, refused);
    if (target.kind !== "target") return target;
    const { workerId, link } = target;
    const startedAt = Date.now();
    const request = { requestId, workerId, ...(port !== undefined && { port }), receivedAt, startedAt };
    return { kind: "placed", link, request };
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
    const { streams, sockets, socketWindowBytes = LINK_WINDOW_BYTES } = this.#parts;
    return streams.begin(link, request, isNew, (port) => {
      const http = new HttpStream(request, port, this.#budget);
      const attachment = { ...request, stream: port.id, hostId: link.hostId, open: LINK_WINDOW_BYTES };
      return new UpgradeStream(http, port, () => {
        const { client, stream } = sockets.open(attachment, port);
        port.become(stream);
        const payload = encodeCredit(socketWindowBytes - LINK_WINDOW_BYTES);
        if (socketWindowBytes > LINK_WINDOW_BYTES) port.send({ type: FRAME.CREDIT, flags: 0, payload });
        return client;
      });
    });
  }
}

function readable({ body, bodyBytes = null }: ForwardCall): Uint8Array | RequestSource | null {
  return body === null || body instanceof Uint8Array ? body : new RequestSource(body, bodyBytes !== null);
}

const ABORTED_MAX = 1_000;

const ABORTED: Partial<Record<ResetReason, string>> = {
  aborted: "The client is gone.",
  timeout: "The worker took too long.",
};

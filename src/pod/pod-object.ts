/**
 * The Pod object: carries requests for the HTTP ports of one pod over the link of the host that runs it. Nothing is
 * stored: what must outlast its memory is attached to its sockets.
 */
import { DurableObject } from "cloudflare:workers";
import { Forwarder, type Rejections, type Target } from "../forwarding/forwarder.ts";
import { LinkHandlers } from "../forwarding/link-handlers.ts";
import { Links } from "../forwarding/links.ts";
import type { ForwardCall, ForwardReply, NoWorker } from "../forwarding/messages.ts";
import { Sockets } from "../forwarding/sockets.ts";
import { Streams, type RequestRecord } from "../forwarding/streams.ts";
import { readUpgradeCall, upgradeResponse } from "../forwarding/upgrade-call.ts";
import type { ResetReason } from "../link/link-messages.ts";

/** Requests of a pod at once; an open WebSocket is one. */
const POD_REQUESTS_MAX = 1_000;

/** Requests of pods scale nothing and are not counted. */
const UNCOUNTED: RequestRecord = { awaited: 0, began() {}, resumed() {}, gaveBack() {}, ended() {} };

export class PodObject extends DurableObject<object> {
  readonly #links: Links;
  readonly #streams: Streams;
  readonly #handlers: LinkHandlers;
  readonly #forwarder: Forwarder;

  constructor(context: DurableObjectState, env: object) {
    super(context, env);
    const links = new Links(context);
    const sockets = new Sockets(context);
    const streams = new Streams({
      links,
      requests: { ...UNCOUNTED },
      onBegin: () => this.#handlers.watch(),
      onEnd: () => this.#handlers.rest(),
      onCount: () => {},
    });
    this.#links = links;
    this.#streams = streams;
    this.#handlers = new LinkHandlers({ links, sockets, streams, onChange: () => {} });
    this.#forwarder = new Forwarder({ streams, sockets, choose: (_, refused) => this.#choose(refused) });
    this.#handlers.recover(Date.now());
  }

  /** Forwards a request to a port; the answer's body follows while it is read. */
  async forward(call: ForwardCall): Promise<ForwardReply> {
    return await this.#forwarder.forward(call);
  }

  /** Ends a request; nothing happens if it is over. */
  async abortForwarded(requestId: string, reason: ResetReason): Promise<void> {
    this.#forwarder.abort(requestId, reason);
  }

  /**
   * WebSockets: `/link?host=…` is the link of the agent that runs the pod, as the caller has checked; `/direct?…` is one
   * of a client, as durable/ports.ts describes.
   */
  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/link") return this.#accept(searchParams.get("host") ?? "");
    return upgradeResponse(await this.#forwarder.upgrade(readUpgradeCall(request)));
  }

  /** A pod runs on one host: the link of another is left from the time before it moved. */
  #accept(hostId: string): Response {
    this.#links.dropOthers(hostId);
    return this.#handlers.accept(hostId, Date.now());
  }

  /** The agent reports the pod as its only worker while the container runs. */
  #choose(refused: Rejections): Target | NoWorker {
    if (this.#streams.count >= POD_REQUESTS_MAX) return { kind: "overloaded", limit: POD_REQUESTS_MAX };
    for (const link of this.#links.all) {
      const [workerId] = link.workers;
      if (workerId !== undefined && !refused.has(workerId)) return { kind: "target", workerId, link };
    }
    return { kind: "wait", detail: "No host reports that the container of the pod runs." };
  }

  // Sockets

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    this.#handlers.take(socket, message, Date.now());
  }

  override async webSocketClose(socket: WebSocket, code: number, reason: string): Promise<void> {
    this.#handlers.closed(socket, code, reason);
    // 1005 and 1006 stand for a close without a code and may not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    this.#handlers.closed(socket, 1006, "");
  }
}

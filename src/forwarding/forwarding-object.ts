/**
 * An object that only forwards: requests of clients go to containers over the link of a host, which the class that
 * extends it chooses. Nothing is stored: what must outlast its memory is attached to its sockets.
 */
import { DurableObject } from "cloudflare:workers";
import type { ResetReason } from "../link/link-messages.ts";
import { Forwarder, type Rejections, type Target, type UpgradeCall } from "./forwarder.ts";
import { LinkHandlers } from "./link-handlers.ts";
import { Links, type ContainerNoun } from "./links.ts";
import type { ForwardFailure, NoWorker } from "./messages.ts";
import { Sockets } from "./sockets.ts";
import { Streams, type RequestRecord } from "./streams.ts";
import { readUpgradeCall, upgradeResponse } from "./upgrade-call.ts";

/** Its requests scale nothing and are not counted. */
const UNCOUNTED: RequestRecord = { awaited: 0, began() {}, resumed() {}, gaveBack() {}, ended() {} };

export type ForwardingLimits = {
  /** What waits on the WebSockets of all clients; that of `Sockets` unless it is given. */
  readonly bufferMaxBytes?: number;
  /** What the agent may have on its way to one WebSocket; that of `Forwarder` unless it is given. */
  readonly socketWindowBytes?: number;
};

export abstract class ForwardingObject extends DurableObject<object> {
  protected readonly links: Links;
  protected readonly streams: Streams;
  protected readonly forwarder: Forwarder;
  readonly #handlers: LinkHandlers;

  constructor(context: DurableObjectState, env: object, limits: ForwardingLimits = {}) {
    super(context, env);
    const links = new Links(context, this.noun);
    const sockets = new Sockets(context, limits.bufferMaxBytes);
    const streams = new Streams({
      links,
      requests: { ...UNCOUNTED },
      onBegin: () => this.#handlers.watch(),
      onEnd: () => this.#handlers.rest(),
      onCount: () => {},
    });
    this.links = links;
    this.streams = streams;
    this.#handlers = new LinkHandlers({ links, sockets, streams, onChange: () => {} });
    this.forwarder = new Forwarder({
      streams,
      sockets,
      choose: (call, refused) => this.choose(call, refused),
      ...(limits.socketWindowBytes !== undefined && { socketWindowBytes: limits.socketWindowBytes }),
    });
    this.#handlers.recover(Date.now());
  }

  /** What its requests go to. */
  protected get noun(): ContainerNoun {
    return "Container";
  }

  /** The container that gets a request, other than those that refused it. */
  protected abstract choose(call: UpgradeCall, refused: Rejections): Target | NoWorker | ForwardFailure;

  /** Takes the link of the agent on a host. */
  protected accept(hostId: string): Response {
    return this.#handlers.accept(hostId, Date.now());
  }

  /** Ends a request or a WebSocket that is not open yet; nothing happens if it is over. */
  async abortForwarded(requestId: string, reason: ResetReason): Promise<void> {
    this.forwarder.abort(requestId, reason);
  }

  /**
   * WebSockets: `/link?host=…` is the link of the agent, as the caller has checked; `/direct?…` is one of a client, as
   * durable/ports.ts describes.
   */
  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/link") return this.accept(searchParams.get("host") ?? "");
    return upgradeResponse(await this.forwarder.upgrade(readUpgradeCall(request)));
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

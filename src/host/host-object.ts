/**
 * The Host object: carries tunnels to the containers of one host over the link of its agent. It reads no message.
 * Nothing is stored: what must outlast its memory is attached to its sockets.
 */
import { DurableObject } from "cloudflare:workers";
import { Forwarder, type Rejections, type Target, type UpgradeCall } from "../forwarding/forwarder.ts";
import { LinkHandlers } from "../forwarding/link-handlers.ts";
import { Links } from "../forwarding/links.ts";
import type { ForwardFailure, NoWorker } from "../forwarding/messages.ts";
import { Sockets } from "../forwarding/sockets.ts";
import { Streams, type RequestRecord } from "../forwarding/streams.ts";
import { readUpgradeCall, upgradeResponse } from "../forwarding/upgrade-call.ts";
import { LINK_WINDOW_MAX_BYTES } from "../link/link-window.ts";
import type { ResetReason } from "../link/link-messages.ts";

/** Tunnels of a host at once. */
const HOST_TUNNELS_MAX = 1_000;
/**
 * What the clients of all tunnels have sent and the link has not taken yet. Each has at most TUNNEL_WINDOW_BYTES on its
 * way, so as many fast uploads fit in as fill the link many times over; beyond that a connection is closed, and the
 * client resumes its tunnel. Below half of an object's memory.
 */
const HOST_BUFFER_MAX_BYTES = 48_000_000;

/** Tunnels scale nothing and are not counted. */
const UNCOUNTED: RequestRecord = { awaited: 0, began() {}, resumed() {}, gaveBack() {}, ended() {} };

export class HostObject extends DurableObject<object> {
  readonly #links: Links;
  readonly #streams: Streams;
  readonly #handlers: LinkHandlers;
  readonly #forwarder: Forwarder;

  constructor(context: DurableObjectState, env: object) {
    super(context, env);
    const links = new Links(context);
    const sockets = new Sockets(context, HOST_BUFFER_MAX_BYTES);
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
    this.#forwarder = new Forwarder({
      streams,
      sockets,
      choose: (call, refused) => this.#choose(call, refused),
      socketWindowBytes: LINK_WINDOW_MAX_BYTES, // files are copied over long ways
    });
    this.#handlers.recover(Date.now());
  }

  /** Gives up a tunnel that is not open yet; nothing happens if it is over. */
  async abortForwarded(requestId: string, reason: ResetReason): Promise<void> {
    this.#forwarder.abort(requestId, reason);
  }

  /**
   * WebSockets: `/link?host=…` is the link of the agent; `/direct?…` is one of a client, as durable/ports.ts describes,
   * whose affinity names the container.
   */
  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/link") return this.#handlers.accept(searchParams.get("host") ?? "", Date.now());
    return upgradeResponse(await this.#forwarder.upgrade(readUpgradeCall(request)));
  }

  /** The agent knows which containers run: one that cannot take the tunnel says why. */
  #choose({ affinity }: UpgradeCall, refused: Rejections): Target | NoWorker | ForwardFailure {
    if (this.#streams.count >= HOST_TUNNELS_MAX) return { kind: "overloaded", limit: HOST_TUNNELS_MAX };
    const [link] = this.#links.all;
    if (!link || affinity === null) return { kind: "wait", detail: "The agent of the host has no link." };
    const { workerId } = affinity;
    return refused.get(workerId) ?? { kind: "target", workerId, link };
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

/** The open WebSockets of clients. The attachment of each names its host and its stream on the link. */
import { WindowBudget } from "../link/link-window.ts";
import { closeSocket, CLOSE_CODE, SocketStream, type SocketAttachment } from "./socket-stream.ts";
import type { StreamPort } from "./stream.ts";

/** What waits on all WebSockets of an object, incomplete messages included. */
const WEBSOCKETS_BUFFER_MAX_BYTES = 32_000_000;

const TAG = "socket";

export class Sockets {
  readonly #context: DurableObjectState;
  readonly #streams = new Map<WebSocket, SocketStream>();
  readonly #budget: WindowBudget;

  constructor(context: DurableObjectState, bufferMaxBytes = WEBSOCKETS_BUFFER_MAX_BYTES) {
    this.#context = context;
    this.#budget = new WindowBudget(bufferMaxBytes);
  }

  /** Finds the WebSockets again; `attach` puts each on its link, and returns undefined when that is gone. */
  recover(
    attach: (
      attachment: SocketAttachment,
      make: (port: StreamPort) => SocketStream,
    ) => SocketStream | undefined,
  ): void {
    for (const socket of this.#context.getWebSockets(TAG)) {
      if (socket.readyState !== WebSocket.OPEN) continue;
      const attachment = socket.deserializeAttachment() as SocketAttachment;
      const stream = attach(attachment, (port) => new SocketStream(socket, attachment, port, this.#budget));
      if (stream) this.#streams.set(socket, stream);
      else closeSocket(socket, { code: CLOSE_CODE.internal, reason: "The host is not connected." });
    }
  }

  /** A WebSocket that its worker has accepted; `client` is the other end. */
  open(
    attachment: SocketAttachment,
    port: StreamPort,
  ): { readonly client: WebSocket; readonly stream: SocketStream } {
    const { 0: client, 1: server } = new WebSocketPair();
    this.#context.acceptWebSocket(server, [TAG]);
    const stream = new SocketStream(server, attachment, port, this.#budget);
    this.#streams.set(server, stream);
    return { client, stream };
  }

  /** Data of one of them is in memory only. */
  get areUnderway(): boolean {
    return this.#streams.values().some(({ isUnderway }) => isUnderway);
  }

  /** False for other sockets. */
  take(socket: WebSocket, message: string | ArrayBuffer): boolean {
    const stream = this.#streams.get(socket);
    stream?.takeMessage(message);
    return stream !== undefined;
  }

  closed(socket: WebSocket, code: number, reason: string): boolean {
    const stream = this.#streams.get(socket);
    stream?.clientClosed(code, reason);
    return this.#streams.delete(socket);
  }
}

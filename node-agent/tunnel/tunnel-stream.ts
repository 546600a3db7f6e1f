/** A connection of a tunnel: one stream of the link of the host. */
import { FLAG_FIN, FRAME, type Frame } from "../../src/link/link-frame.ts";
import { closeSchema, decodeJson, encodeJson } from "../../src/link/link-messages.ts";
import type { TunnelMessage } from "../../src/tunnel/tunnel-channel.ts";
import { TUNNEL_CLOSE, TUNNEL_MESSAGE_MAX_BYTES } from "../../src/tunnel/tunnel-messages.ts";
import type { Channel } from "../link/channel.ts";
import type { LinkStream } from "../link/link-stream.ts";
import type { Tunnel, TunnelConnection } from "./tunnel.ts";

const encoder = new TextEncoder();
const OPEN = encodeJson({ status: 101, statusText: "Switching Protocols", headers: [] });
/** The client has closed without a code, as a program does that has no more to say. */
const NO_CODE = 1005;

export class TunnelStream implements LinkStream, TunnelConnection {
  readonly #channel: Channel;
  #tunnel: Tunnel | null = null;
  /** Pieces of a message that is not complete. */
  #pieces: Uint8Array[] = [];
  #pendingBytes = 0;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  get isOver(): boolean {
    return this.#channel.hasEnded;
  }

  /** Until the tunnel is there. */
  get isAwaited(): boolean {
    return this.#tunnel === null;
  }

  /** The tunnel is there. */
  open(tunnel: Tunnel): void {
    this.#tunnel = tunnel;
    this.#channel.head(OPEN);
    tunnel.attach(this);
  }

  // To the client

  send(message: TunnelMessage): void {
    if (this.#channel.hasEnded) return;
    if (typeof message === "string") this.#channel.send(FRAME.TEXT, encoder.encode(message));
    else this.#channel.send(FRAME.BINARY, message);
  }

  close(code: number, reason: string): void {
    this.#channel.close({ code, reason });
  }

  // From the client

  receive({ type, flags, payload }: Frame): void {
    if (!this.#channel.received(payload.byteLength)) return this.#failProtocol("There was no credit.");
    if (type === FRAME.CLOSE) return this.#receivedClose(payload);
    if (type !== FRAME.TEXT && type !== FRAME.BINARY) return this.#failProtocol("A tunnel is a WebSocket.");
    if (!this.#tunnel) return this.#failProtocol("It is not open yet.");
    this.#pendingBytes += payload.byteLength;
    if (this.#pendingBytes > TUNNEL_MESSAGE_MAX_BYTES)
      return this.#tunnel.close(TUNNEL_CLOSE.tooLarge, "A message is too large.");
    this.#pieces.push(payload);
    this.#channel.consumed(payload.byteLength); // the window of the tunnel bounds what waits
    if ((flags & FLAG_FIN) === 0) return;
    const message = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#pendingBytes = 0;
    this.#tunnel.receive(this, type === FRAME.TEXT ? message.toString() : message);
  }

  #receivedClose(payload: Uint8Array): void {
    const { data: close } = closeSchema.safeParse(decodeJson(payload));
    if (!close) return this.#failProtocol("A close without a code.");
    const { code } = close;
    this.#channel.close({ code, reason: "" });
    this.#channel.receivedClose();
    if (code === TUNNEL_CLOSE.over || code === NO_CODE) this.#tunnel?.left(this);
    else this.#tunnel?.lost(this);
  }

  /** The connection is lost. */
  abort(): void {
    this.#channel.drop();
    this.#tunnel?.lost(this);
  }

  #failProtocol(detail: string): void {
    this.#channel.fail("protocol", detail);
    this.#tunnel?.left(this);
  }
}

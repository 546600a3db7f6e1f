/** A TCP connection to a port of a container, as a stream. */
import { Duplex } from "node:stream";
import { Failure } from "../../src/std/failure.ts";
import { parseJson } from "../../src/std/json.ts";
import type { TunnelMessage } from "../../src/tunnel/tunnel-channel.ts";
import {
  agentMessageSchema,
  type ClientMessage,
  TUNNEL_MESSAGE_MAX_BYTES,
} from "../../src/tunnel/tunnel-messages.ts";
import { ClientTunnel } from "./client-tunnel.ts";
import type { Container } from "./container.ts";

type Next = (error?: Error | null) => void;

/** It is over when both sides have ended, or when it is destroyed. */
export class PortStream extends Duplex {
  #tunnel: ClientTunnel | undefined;
  #unread: (() => void)[] = [];
  #drained: (() => void)[] = [];

  private constructor() {
    super({ allowHalfOpen: true });
  }

  /** Throws a Failure when nothing listens on the port, or the tunnel is refused. */
  static async open({ service, containerId, onConnection }: Container, port: number): Promise<PortStream> {
    const stream = new PortStream();
    const tunnel = await ClientTunnel.open({
      service,
      target: { containerId, port },
      onMessage: (message, consumed) => stream.#take(message, consumed),
      onDrain: () => stream.#drain(),
      onConnection,
    });
    stream.#tunnel = tunnel;
    tunnel.over.then(
      () => stream.#end(),
      (failure: Error) => stream.destroy(failure),
    );
    return stream;
  }

  /** Destroys it; resolves when the other side knows of it. */
  async leave(): Promise<void> {
    this.destroy();
    await this.#tunnel?.leave();
  }

  override _read(): void {
    for (const consumed of this.#unread.splice(0)) consumed();
  }

  override _write(bytes: Buffer, _: BufferEncoding, next: Next): void {
    for (let at = 0; at < bytes.length; at += TUNNEL_MESSAGE_MAX_BYTES)
      this.#tunnel?.send(bytes.subarray(at, at + TUNNEL_MESSAGE_MAX_BYTES));
    if (this.#tunnel?.isFull) this.#drained.push(next);
    else next();
  }

  override _final(next: Next): void {
    this.#tunnel?.send(JSON.stringify({ type: "end" } satisfies ClientMessage));
    next();
  }

  override _destroy(error: Error | null, next: Next): void {
    this.#tunnel?.close();
    next(error);
  }

  #take(message: TunnelMessage, consumed: () => void): void {
    if (typeof message !== "string") {
      if (this.destroyed || this.push(message)) consumed();
      else this.#unread.push(consumed);
      return;
    }
    consumed();
    const { data } = agentMessageSchema.safeParse(parseJson(message));
    if (data?.type === "end") this.#end();
    if (data?.type === "error") this.destroy(new Failure(data.message));
  }

  /** Nothing more comes. */
  #end(): void {
    if (!this.destroyed && !this.readableEnded) this.push(null);
  }

  #drain(): void {
    for (const next of this.#drained.splice(0)) next();
  }
}

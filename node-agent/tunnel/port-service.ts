/** A TCP connection at the end of a tunnel. */
import type { Socket } from "node:net";
import { parseJson } from "../../src/std/json.ts";
import type { TunnelMessage } from "../../src/tunnel/tunnel-channel.ts";
import { clientMessageSchema, TUNNEL_MESSAGE_MAX_BYTES } from "../../src/tunnel/tunnel-messages.ts";
import type { Tunnel, TunnelService } from "./tunnel.ts";

export class PortService implements TunnelService {
  readonly #tunnel: Tunnel;
  readonly #socket: Socket;
  #hasReceivedEnd = false;

  /** The socket is open, and paused. */
  constructor(tunnel: Tunnel, socket: Socket) {
    this.#tunnel = tunnel;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => this.#forward(bytes));
    socket.on("end", () => this.#tunnel.say({ type: "end" }));
    socket.on("error", (error) => this.#tunnel.fail(`The connection has failed: ${error.message}.`));
    socket.on("close", () => this.#tunnel.finish());
    socket.resume();
  }

  receive(message: TunnelMessage, consumed: () => void): string | undefined {
    if (this.#hasReceivedEnd) return "Nothing comes after END.";
    if (typeof message !== "string") {
      this.#socket.write(message, consumed);
      return undefined;
    }
    consumed();
    const { data } = clientMessageSchema.safeParse(parseJson(message));
    if (data?.type !== "end") return "A port has no such message.";
    this.#hasReceivedEnd = true;
    this.#socket.end();
    return undefined;
  }

  drained(): void {
    this.#socket.resume();
  }

  async end(): Promise<void> {
    this.#socket.destroy();
  }

  #forward(bytes: Buffer): void {
    for (let at = 0; at < bytes.byteLength; at += TUNNEL_MESSAGE_MAX_BYTES) {
      this.#tunnel.send(bytes.subarray(at, at + TUNNEL_MESSAGE_MAX_BYTES));
    }
    if (this.#tunnel.isFull) this.#socket.pause();
  }
}

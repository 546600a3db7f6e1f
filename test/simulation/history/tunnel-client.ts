/** The client's end of a tunnel, over as many connections as it takes. */
import { ClientSocket } from "../runtime/client-socket.ts";
import type { World } from "../world/world.ts";
import { TunnelChannel, type TunnelMessage } from "../../../src/tunnel/tunnel-channel.ts";
import { TUNNEL_RESUME_MS } from "../../../src/tunnel/tunnel-messages.ts";
import type { SimulatedClient } from "./client.ts";

export type TunnelClientParts = {
  readonly world: World;
  readonly client: SimulatedClient;
  /** Of the container and its use. */
  readonly path: string;
  readonly onMessage: (message: TunnelMessage) => void;
  readonly violate: (what: string) => void;
};

const RETRY_MS = 500;
const ID_BYTES = 16;
/** Close codes after which nobody resumes. */
const FINAL = new Set([1000, 1002, 1009, 4001, 4002]);

export class TunnelClient {
  readonly name: string;
  readonly #parts: TunnelClientParts;
  readonly #id: string;
  readonly #over = Promise.withResolvers<void>();
  readonly #channel: TunnelChannel;
  #socket: ClientSocket | undefined;
  #isOpened = false;
  #isOver = false;
  /** Since when it has no connection, true time in ms of the history. */
  #lostAt: number | null = null;

  constructor(parts: TunnelClientParts) {
    this.#parts = parts;
    const bytes = Buffer.alloc(ID_BYTES);
    parts.world.random.bytes(bytes);
    this.#id = bytes.toString("hex");
    this.name = `the tunnel ${this.#id.slice(0, 6)} to ${parts.path}`;
    this.#channel = new TunnelChannel({
      onMessage: (message, consumed) => {
        if (!this.#isOver) parts.onMessage(message);
        consumed();
      },
      onDrain: () => {},
    });
    this.#connect();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Until it is over for its client. */
  async over(): Promise<void> {
    await this.#over.promise;
  }

  send(message: TunnelMessage): void {
    this.#channel.send(message);
  }

  /** Nobody resumes it; the agent ends it after a while. */
  vanish(): void {
    this.#note("vanishes");
    this.#end();
    this.#socket?.vanish();
  }

  /** It is over, or not wanted any more. */
  close(): void {
    this.#socket?.close(1000);
    this.#end();
  }

  wrong(how: string): void {
    this.#parts.violate(`${this.name} ${how}`);
    this.close();
  }

  #connect(): void {
    if (this.#isOver) return;
    const { client, world, path } = this.#parts;
    const resume = this.#isOpened ? "&resume=true" : "";
    const socket = client.socket(`${path}?tunnel=${this.#id}${resume}`);
    const carrier = {
      send: (message: TunnelMessage): void => {
        if (socket.readyState === ClientSocket.OPEN) socket.send(message as string);
      },
    };
    let status: number | undefined;
    this.#socket = socket;
    this.#lostAt ??= world.elapsedMs;
    socket.addEventListener("open", () => {
      if (this.#isOver) return socket.close(1000);
      this.#note(this.#isOpened ? "is resumed" : "opens");
      this.#isOpened = true;
      this.#lostAt = null;
      this.#channel.attach(carrier);
    });
    socket.addEventListener("message", ({ data }) => {
      const message = typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer);
      const problem = this.#channel.receive(carrier, message);
      if (problem !== undefined) this.wrong(`says what it may not: ${problem}`);
    });
    socket.addEventListener("refused", (event) => (status = event.status));
    socket.addEventListener("close", ({ code = 1006 }) => {
      this.#channel.detach(carrier);
      this.#closed(code, status);
    });
  }

  #closed(code: number, status: number | undefined): void {
    if (this.#isOver) return;
    const { world } = this.#parts;
    this.#note(`closes with ${status ?? code}`);
    this.#lostAt ??= world.elapsedMs;
    const isGivenUp = world.elapsedMs - this.#lostAt > TUNNEL_RESUME_MS;
    const isRefused = status !== undefined && status < 500;
    if (FINAL.has(code) || isRefused || isGivenUp) return this.#end();
    setTimeout(() => this.#connect(), RETRY_MS);
  }

  #end(): void {
    this.#isOver = true;
    this.#over.resolve();
  }

  #note(how: string): void {
    this.#parts.world.note(this.#parts.client.machine, `${this.name} ${how}`);
  }
}

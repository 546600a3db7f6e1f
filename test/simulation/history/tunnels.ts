/** Clients with tunnels into containers, where a program sends back what it gets; and what has to hold of these. */
import type { Container } from "../host/containers.ts";
import type { SimulatedHost } from "../host/host.ts";
import { ClientSocket } from "../runtime/client-socket.ts";
import type { World } from "../world/world.ts";
import { TunnelChannel, type TunnelMessage } from "../../../src/tunnel/tunnel-channel.ts";
import { TUNNEL_RESUME_MS } from "../../../src/tunnel/tunnel-messages.ts";
import type { SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";

export type TunnelParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly hosts: readonly SimulatedHost[];
  readonly violate: (what: string) => void;
};

const TUNNELS = 2;
/** From the begin of the history, typically. */
const BEGIN_MS = 5_000;
const RETRY_MS = 500;
const PIECE_MS = 300;
const PORT = 22;
const ID_BYTES = 16;
/** Close codes after which nobody resumes. */
const FINAL = new Set([1000, 1002, 1009, 4001, 4002]);

export class TunnelUser {
  readonly #parts: TunnelParts;
  #leftCount = TUNNELS;

  constructor(parts: TunnelParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.#leftCount === 0;
  }

  start(): void {
    const { client, world } = this.#parts;
    for (let count = 0; count < TUNNELS; count += 1)
      client.run(world, async () => {
        await pause(world.random.delay(BEGIN_MS));
        const container = this.#choose();
        if (container) await new EchoedTunnel(this.#parts, container).run();
        this.#leftCount -= 1;
      });
  }

  #choose(): Container | undefined {
    const all = this.#parts.hosts.flatMap(({ containers }) => [...containers.all.values()]);
    const running = all.filter(({ isRunning, isFrozen }) => isRunning && !isFrozen);
    return running.length === 0 ? undefined : this.#parts.world.random.pick(running);
  }
}

class EchoedTunnel {
  readonly #parts: TunnelParts;
  readonly #container: Container;
  readonly #id: string;
  readonly #over = Promise.withResolvers<void>();
  readonly #channel: TunnelChannel;
  readonly #name: string;
  #socket: ClientSocket | undefined;
  #sent = "";
  #received = "";
  #isOpened = false;
  #isOver = false;
  /** Since when it has no connection, true time in ms of the history. */
  #lostAt: number | null = null;

  constructor(parts: TunnelParts, container: Container) {
    this.#parts = parts;
    this.#container = container;
    const bytes = Buffer.alloc(ID_BYTES);
    parts.world.random.bytes(bytes);
    this.#id = bytes.toString("hex");
    this.#name = `the tunnel ${this.#id.slice(0, 6)} into ${container.spec.workerId}`;
    this.#channel = new TunnelChannel({
      onMessage: (message, consumed) => {
        this.#take(message);
        consumed();
      },
      onDrain: () => {},
    });
  }

  /** Until it is over for its client. */
  async run(): Promise<void> {
    this.#connect();
    const { random } = this.#parts.world;
    const pieces = random.whole(1, 8);
    for (let number = 0; number < pieces && !this.#isOver; number += 1) {
      const piece = `${number}${"x".repeat(random.pick([0, 10, 10_000]))};`;
      this.#sent += piece;
      this.#channel.send(Buffer.from(piece));
      await pause(random.delay(PIECE_MS));
      if (random.chance(0.05)) return this.#vanish();
    }
    this.#channel.send(JSON.stringify({ type: "end" }));
    await this.#over.promise;
  }

  /** Nobody resumes it; the agent ends it after a while. */
  #vanish(): void {
    this.#note("vanishes");
    this.#isOver = true;
    this.#socket?.close(3000);
  }

  #connect(): void {
    const { client, world } = this.#parts;
    const { workerId } = this.#container.spec;
    const resume = this.#isOpened ? "&resume=true" : "";
    const socket = client.socket(`/tunnels/${workerId}/ports/${PORT}?tunnel=${this.#id}${resume}`);
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
      if (problem !== undefined) this.#wrong(`says what it may not: ${problem}`);
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

  #take(message: TunnelMessage): void {
    if (typeof message !== "string") {
      this.#received += Buffer.from(message).toString();
      if (!this.#sent.startsWith(this.#received)) this.#wrong("sends back other bytes than it got");
      return;
    }
    const { type } = JSON.parse(message) as { readonly type: string };
    this.#note(type);
    if (type === "end" && this.#received !== this.#sent) this.#wrong("lacks bytes at its end");
    this.#socket?.close(1000);
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#over.resolve();
  }

  #wrong(how: string): void {
    this.#parts.violate(`${this.#name} ${how}`);
    this.#socket?.close(1000);
    this.#end();
  }

  #note(how: string): void {
    this.#parts.world.note(this.#parts.client.machine, `${this.#name} ${how}`);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

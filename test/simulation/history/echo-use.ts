/** A client with a tunnel to a program that sends back what it gets; and what has to hold of it. */
import type { Container } from "../host/containers.ts";
import type { TunnelMessage } from "../../../src/tunnel/tunnel-channel.ts";
import { TunnelClient } from "./tunnel-client.ts";
import type { TunnelParts } from "./tunnels.ts";

const PIECE_MS = 300;
const PORT = 22;
const VANISHING = 0.05;

export class EchoUse {
  readonly #parts: TunnelParts;
  readonly #tunnel: TunnelClient;
  #sent = "";
  #received = "";

  constructor(parts: TunnelParts, { spec }: Container) {
    this.#parts = parts;
    const path = `/tunnels/${spec.workerId}/ports/${PORT}`;
    this.#tunnel = new TunnelClient({ ...parts, path, onMessage: (message) => this.#take(message) });
  }

  async run(): Promise<void> {
    const { random } = this.#parts.world;
    const tunnel = this.#tunnel;
    const pieces = random.whole(1, 8);
    for (let number = 0; number < pieces && !tunnel.isOver; number += 1) {
      const piece = `${number}${"x".repeat(random.pick([0, 10, 10_000]))};`;
      this.#sent += piece;
      tunnel.send(Buffer.from(piece));
      await new Promise((resolve) => setTimeout(resolve, random.delay(PIECE_MS)));
      if (random.chance(VANISHING)) return tunnel.vanish();
    }
    tunnel.send(JSON.stringify({ type: "end" }));
    await tunnel.over();
  }

  #take(message: TunnelMessage): void {
    if (typeof message !== "string") {
      this.#received += Buffer.from(message).toString();
      if (!this.#sent.startsWith(this.#received)) this.#tunnel.wrong("sends back other bytes than it got");
      return;
    }
    const { type } = JSON.parse(message) as { readonly type: string };
    if (type === "end" && this.#received !== this.#sent) this.#tunnel.wrong("lacks bytes at its end");
    else this.#tunnel.close();
  }
}

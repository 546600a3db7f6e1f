/**
 * The cable of a host. It begins in the host's network namespace, goes through a namespace that stands for the network,
 * in which packets can get lost, and ends at a relay, since the edge listens on the loopback interface only.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { Transform, type TransformCallback } from "node:stream";
import { promisify } from "node:util";

const run = promisify(execFile);

const SETUP_LIMIT_MS = 60_000;

/** Percentage of the packets that get lost without anybody being told, as behind a router. */
export type Loss = { readonly toHost: number; readonly toEdge: number };

export class HostLink implements AsyncDisposable {
  readonly namespace: string;
  /** Address of the edge as the host sees it. */
  edgeUrl = "";
  /** What each byte takes in each direction, ms. */
  delayMs = 0;
  readonly #outerAddress: string;
  readonly #network: Network;
  readonly #relays: Relay[] = [];

  private constructor(namespace: string, network: Network, outerAddress: string) {
    this.namespace = namespace;
    this.#network = network;
    this.#outerAddress = outerAddress;
  }

  static async create(rigName: string, hostName: string, edgeUrl: string): Promise<HostLink> {
    const namespace = `${rigName}-${hostName}`;
    const id = randomBytes(4).toString("hex");
    const [outer, inner] = [`er${id}o`, `er${id}i`];
    await ip("netns", "add", namespace);
    const network = await layNetwork(namespace, { id, outer, inner });
    const subnet = await subnetOf(outer);
    const [outerAddress, innerAddress] = [`${subnet}.1`, `${subnet}.2`];
    const inside = (...args: string[]) => ip("-netns", namespace, ...args);
    await ip("address", "add", `${outerAddress}/30`, "dev", outer);
    await ip("link", "set", outer, "up");
    await inside("address", "add", `${innerAddress}/30`, "dev", inner);
    await inside("link", "set", inner, "up");
    await inside("link", "set", "lo", "up");
    await inside("route", "add", "default", "via", outerAddress);
    const link = new HostLink(namespace, network, outerAddress);
    link.edgeUrl = `http://${await link.reach(new URL(edgeUrl))}`;
    return link;
  }

  /** Lets the host reach a server of this machine; returns the address and port for that. */
  async reach(server: URL): Promise<string> {
    const relay = await Relay.open(this.#outerAddress, server, () => this.delayMs);
    this.#relays.push(relay);
    return `${this.#outerAddress}:${relay.port}`;
  }

  /** The command that runs a command in the host's namespace, as the same process. */
  inside(command: readonly string[]): readonly string[] {
    return ["nsenter", `--net=/run/netns/${this.namespace}`, "--", ...command];
  }

  /** The host sees that its interface has no carrier; the edge sees nothing. */
  async unplug(): Promise<void> {
    await this.#setNearEnd("down");
  }

  async plugIn(): Promise<void> {
    await this.#setNearEnd("up");
  }

  /** Needs `nft`. Address resolution goes on, so neither end takes the other for unreachable. */
  async lose({ toHost, toEdge }: Loss): Promise<void> {
    const { namespace, nearEnd, farEnd } = this.#network;
    const chains = [lossChain("to_host", farEnd, toHost), lossChain("to_edge", nearEnd, toEdge)];
    const rules = [
      "table netdev loss",
      "delete table netdev loss",
      "table netdev loss {",
      ...chains,
      "}",
    ].join("\n");
    await run("nsenter", [`--net=/run/netns/${namespace}`, "--", "nft", rules], { timeout: SETUP_LIMIT_MS });
  }

  async #setNearEnd(state: "up" | "down"): Promise<void> {
    await ip("-netns", this.#network.namespace, "link", "set", this.#network.nearEnd, state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#relays.map((relay) => relay.close()));
  }
}

/** The ends of a cable within the namespace that stands for the network: at the host, and at the edge. */
type Network = { readonly namespace: string; readonly nearEnd: string; readonly farEnd: string };

/** Two pairs of virtual interfaces with a bridge between them. */
async function layNetwork(
  hostNamespace: string,
  { id, outer, inner }: { readonly id: string; readonly outer: string; readonly inner: string },
): Promise<Network> {
  const [namespace, nearEnd, farEnd, bridge] = [
    `${hostNamespace}-network`,
    `er${id}n`,
    `er${id}f`,
    `er${id}b`,
  ];
  const within = (...args: string[]) => ip("-netns", namespace, ...args);
  await ip("netns", "add", namespace);
  await within("link", "add", bridge, "type", "bridge");
  await ip("link", "add", outer, "type", "veth", "peer", "name", farEnd, "netns", namespace);
  await within("link", "add", nearEnd, "type", "veth", "peer", "name", inner, "netns", hostNamespace);
  for (const end of [nearEnd, farEnd]) await within("link", "set", end, "master", bridge);
  for (const end of [nearEnd, farEnd, bridge]) await within("link", "set", end, "up");
  return { namespace, nearEnd, farEnd };
}

/** Drops what comes in at an end: there its sender does not learn of it, as it does where it goes out. */
function lossChain(name: string, end: string, percent: number): string {
  const rule = percent < 100 ? `numgen random mod 100 < ${percent} drop` : "drop";
  const rules = percent === 0 ? "" : `meta protocol { ip, ip6 } ${rule}`;
  return `chain ${name} {\n type filter hook ingress device "${end}" priority 0\n ${rules}\n }`;
}

/** Three octets of its own: with those of another cable, packets would leave by whichever came first. */
async function subnetOf(networkInterface: string): Promise<string> {
  const index = Number(await readFile(`/sys/class/net/${networkInterface}/ifindex`, "utf8"));
  return `10.${200 + (Math.floor(index / 256) % 50)}.${index % 256}`;
}

async function ip(...args: string[]): Promise<void> {
  await run("ip", args, { timeout: SETUP_LIMIT_MS });
}

/** Passes connections of an address on to the edge. */
class Relay {
  readonly #server: Server;
  readonly #delayMs: () => number;
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL, delayMs: () => number) {
    this.#delayMs = delayMs;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#pass(socket, target));
  }

  static async open(address: string, target: URL, delayMs: () => number): Promise<Relay> {
    const relay = new Relay(target, delayMs);
    relay.#server.listen(0, address);
    await once(relay.#server, "listening");
    return relay;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the relay does not listen");
    return address.port;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #pass(near: Socket, { hostname, port }: URL): void {
    const far = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.pipe(new Delay(this.#delayMs)).pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}

/** Passes on what comes, in its order, each piece after the delay that there is when it comes. */
class Delay extends Transform {
  readonly #delayMs: () => number;
  /** What is to happen, and when. */
  readonly #waiting: { readonly at: number; readonly act: () => void }[] = [];

  constructor(delayMs: () => number) {
    super();
    this.#delayMs = delayMs;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#later(() => this.push(chunk));
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#later(done);
  }

  #later(act: () => void): void {
    const now = performance.now();
    const at = Math.max(now + this.#delayMs(), this.#waiting.at(-1)?.at ?? 0);
    if (this.#waiting.length === 0 && at === now) return act();
    this.#waiting.push({ at, act });
    setTimeout(() => this.#waiting.shift()?.act(), at - now);
  }
}

/**
 * The cable of a host: a network namespace, a pair of virtual interfaces, and a relay at their outer end, since
 * the edge listens on the loopback interface only. Unplugged, packets are lost and nobody is told.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { promisify } from "node:util";

const run = promisify(execFile);

const SETUP_LIMIT_MS = 60_000;

export class HostLink implements AsyncDisposable {
  readonly namespace: string;
  /** Address of the edge as the host sees it. */
  edgeUrl = "";
  readonly #outerEnd: string;
  readonly #outerAddress: string;
  readonly #relays: Relay[] = [];

  private constructor(namespace: string, outerEnd: string, outerAddress: string) {
    this.namespace = namespace;
    this.#outerEnd = outerEnd;
    this.#outerAddress = outerAddress;
  }

  static async create(rigName: string, hostName: string, edgeUrl: string): Promise<HostLink> {
    const namespace = `${rigName}-${hostName}`;
    const id = randomBytes(4).toString("hex");
    const [outer, inner] = [`er${id}o`, `er${id}i`];
    const inside = (...args: string[]) => ip("-netns", namespace, ...args);
    await ip("netns", "add", namespace);
    await ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", namespace);
    const subnet = await subnetOf(outer);
    const [outerAddress, innerAddress] = [`${subnet}.1`, `${subnet}.2`];
    await ip("address", "add", `${outerAddress}/30`, "dev", outer);
    await ip("link", "set", outer, "up");
    await inside("address", "add", `${innerAddress}/30`, "dev", inner);
    await inside("link", "set", inner, "up");
    await inside("link", "set", "lo", "up");
    await inside("route", "add", "default", "via", outerAddress);
    const link = new HostLink(namespace, outer, outerAddress);
    link.edgeUrl = `http://${await link.reach(new URL(edgeUrl))}`;
    return link;
  }

  /** Lets the host reach a server of this machine; returns the address and port for that. */
  async reach(server: URL): Promise<string> {
    const relay = await Relay.open(this.#outerAddress, server);
    this.#relays.push(relay);
    return `${this.#outerAddress}:${relay.port}`;
  }

  /** The command that runs a command in the host's namespace, as the same process. */
  inside(command: readonly string[]): readonly string[] {
    return ["nsenter", `--net=/run/netns/${this.namespace}`, "--", ...command];
  }

  async unplug(): Promise<void> {
    await ip("link", "set", this.#outerEnd, "down");
  }

  async plugIn(): Promise<void> {
    await ip("link", "set", this.#outerEnd, "up");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#relays.map((relay) => relay.close()));
  }
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
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL) {
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#pass(socket, target));
  }

  static async open(address: string, target: URL): Promise<Relay> {
    const relay = new Relay(target);
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
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}

/** `request` of `node:http`, to the servers of the containers of a simulated host. */
import { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import { place } from "../../world/globals.ts";
import type { Machine, World } from "../../world/world.ts";
import { type ContainerServer, serverAt } from "../container-servers.ts";
import { Exchange, type RequestHead } from "../exchange.ts";
import type { IdleConnections } from "./idle-connections.ts";

type Options = {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly method?: string;
  /** Names and values in turn, or by name. */
  readonly headers?: readonly string[] | Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Keeps its connection, and may have one; false for none. */
  readonly agent?: IdleConnections | false;
};

const CONNECT_MS = 1;

export function request(options: Options): SimulatedClientRequest {
  return new SimulatedClientRequest(options);
}

class SimulatedClientRequest extends EventEmitter {
  readonly #options: Options;
  readonly #world: World;
  readonly #machine: Machine;
  #exchange: Exchange | undefined;
  #response: SimulatedResponse | undefined;
  /** What is to be sent once there is a connection. */
  #early: ((exchange: Exchange) => void)[] = [];
  /** Of pieces that the server has not taken. */
  readonly #untaken: (() => void)[] = [];
  #hasSentEnd = false;
  #isClosed = false;

  constructor(options: Options) {
    super();
    this.#options = options;
    const { world, machine } = place() as NonNullable<ReturnType<typeof place>>;
    this.#world = world;
    this.#machine = machine;
    const { signal } = options;
    signal?.addEventListener("abort", () => this.#fail(new Error("aborted")), { once: true });
    this.#start(options);
  }

  #start({ agent, host, port }: Options): void {
    const kept = agent ? agent.take(host, port) : undefined;
    const [delayMs, what] = kept
      ? ([0, "agent sends again"] as const)
      : ([CONNECT_MS, "agent connects"] as const);
    this.#world.schedule(this.#machine, delayMs, what, () => {
      if (!kept) this.#connect();
      else if (kept.isClosed) this.#fail(failure("socket hang up", "ECONNRESET"));
      else this.#begin(kept.server);
    });
  }

  flushHeaders(): void {}

  write(piece: Uint8Array, onTaken: () => void): boolean {
    const copy = piece.slice();
    this.#untaken.push(onTaken);
    this.#do((exchange) => exchange.send(copy));
    return true;
  }

  end(): this {
    this.#hasSentEnd = true;
    this.#do((exchange) => exchange.sendEnd());
    return this;
  }

  destroy(): this {
    this.#exchange?.hangUp();
    this.#response?.destroy();
    if (!this.#response) this.#fail(failure("socket hang up", "ECONNRESET"));
    else this.#close();
    return this;
  }

  #do(act: (exchange: Exchange) => void): void {
    if (this.#exchange) act(this.#exchange);
    else this.#early.push(act);
  }

  #connect(): void {
    if (this.#isClosed) return;
    const { host, port } = this.#options;
    const server = serverAt(host, port);
    if (!server) return this.#fail(rejection(host, port));
    const socket = new EventEmitter();
    this.emit("socket", socket);
    socket.emit("connect");
    this.#begin(server);
  }

  #begin(server: ContainerServer): void {
    if (this.#isClosed) return;
    const exchange = new Exchange(this.#world, this.#machine, server.container, headOf(this.#options), {
      answered: (status, headers) => this.#answered(status, headers),
      received: (piece) => void this.#response?.push(piece),
      ended: () => this.#ended(server),
      broken: () => this.#broken(),
      taken: () => this.#untaken.shift()?.(),
    });
    this.#exchange = exchange;
    this.#world.on(server.container.machine, () => server.serve(exchange));
    for (const act of this.#early.splice(0)) act(exchange);
  }

  #answered(status: number, headers: Readonly<Record<string, string>>): void {
    if (this.#isClosed) return;
    this.#response = new SimulatedResponse(status, headers);
    this.emit("response", this.#response);
  }

  /** Its last bytes are read first. */
  #ended(server: ContainerServer): void {
    const { agent } = this.#options;
    const response = this.#response;
    response?.once("end", () => {
      if (agent && this.#hasSentEnd && !this.#isClosed) agent.give(server);
      this.#close();
    });
    response?.push(null);
  }

  #broken(): void {
    const error = failure("socket hang up", "ECONNRESET");
    if (!this.#response) return this.#fail(error);
    this.#response.destroy(failure("aborted", "ECONNRESET"));
    this.#close();
  }

  #fail(error: Error): void {
    if (this.#isClosed) return;
    this.#exchange?.hangUp();
    this.#close(error);
  }

  #close(error?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    process.nextTick(() => {
      if (error) this.emit("error", error);
      this.emit("close");
    });
  }
}

/** What code reads of an IncomingMessage. */
export class SimulatedResponse extends Readable {
  readonly statusCode: number;
  readonly statusMessage = "";
  readonly rawHeaders: readonly string[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, headers: Readonly<Record<string, string>>) {
    super({ read() {} });
    this.statusCode = status;
    this.headers = headers;
    this.rawHeaders = Object.entries(headers).flat();
  }
}

function headOf({ method = "GET", path, headers = {} }: Options): RequestHead {
  const flat = Array.isArray(headers) ? (headers as readonly string[]) : Object.entries(headers).flat();
  const byName = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2)
    byName.set(String(flat[at]).toLowerCase(), String(flat[at + 1]));
  return { method, target: path, headers: byName };
}

/** Nothing listens there. */
export function rejection(host: string, port: number): Error {
  const error = failure(`connect ECONNREFUSED ${host}:${port}`, "ECONNREFUSED");
  return Object.assign(error, { syscall: "connect" });
}

export function failure(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}

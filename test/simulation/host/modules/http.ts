/** `node:http` of a simulated host: servers that programs of the same host call, without sockets. */
import { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import { place } from "../../world/globals.ts";
import type { Machine } from "../../world/world.ts";

export { IdleConnections as Agent } from "./idle-connections.ts";
export { validateHeaderName, validateHeaderValue, STATUS_CODES } from "real:http";
export { request } from "./http-client.ts";

type Handler = (request: SimulatedRequest, response: SimulatedReply) => void;

export type LocalCall = {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  /** The caller reads its reply so slowly, ms; and may go away meanwhile. */
  readonly readMs?: number;
  readonly isReadWhole?: boolean;
  /** The server begins to reply. */
  readonly onReplying?: () => void;
};
export type LocalReply = { readonly status: number; readonly body: string };

/** Servers by port, of all hosts of this process. */
const servers = new Map<number, SimulatedServer>();
let lastPort = 10_000;
/** The port of its last server has been taken by another program. */
const robbed = new Set<Machine>();

/** No server listens any more: a new world begins. */
export function closeAllServers(): void {
  servers.clear();
  robbed.clear();
  lastPort = 10_000;
}

/** Another program takes the port of the machine's next server, if that wants a certain one. */
export function takePortOf(machine: Machine): void {
  robbed.add(machine);
}

/** The machine has crashed: all connections to its servers break. */
export function breakServersOf(machine: Machine): void {
  for (const server of servers.values()) if (server.isOf(machine)) server.breakAll();
}

/** Calls a server of this host; `onReply` gets null when the connection is refused or breaks. Returns how to hang up. */
export function callLocal(
  port: number,
  call: LocalCall,
  onReply: (reply: LocalReply | null) => void,
): () => void {
  const server = servers.get(port);
  if (!server?.isAlive) {
    onReply(null);
    return () => {};
  }
  return server.receive(call, onReply);
}

class SimulatedServer extends EventEmitter {
  keepAliveTimeout = 0;
  maxConnections = 0;
  readonly #handler: Handler;
  #machine: Machine | undefined;
  #life = 0;
  #port = 0;
  readonly #replies = new Set<SimulatedReply>();

  constructor(handler: Handler) {
    super();
    this.#handler = handler;
  }

  get isAlive(): boolean {
    return this.#machine !== undefined && this.#machine.life === this.#life;
  }

  isOf(machine: Machine): boolean {
    return this.#machine === machine;
  }

  listen({ port }: { readonly port: number }, onListening: () => void): this {
    const here = place();
    this.#port = port === 0 ? (lastPort += 1) : port;
    this.#machine = here?.machine;
    this.#life = here?.machine.life ?? 0;
    const isTaken = port !== 0 && this.#machine !== undefined && robbed.delete(this.#machine);
    if (isTaken || servers.get(this.#port)?.isAlive) {
      queueMicrotask(() => this.emit("error", Object.assign(new Error("in use"), { code: "EADDRINUSE" })));
      return this;
    }
    servers.set(this.#port, this);
    queueMicrotask(onListening);
    return this;
  }

  address(): { readonly port: number } {
    return { port: this.#port };
  }

  close(onClosed?: (error?: Error) => void): this {
    if (servers.get(this.#port) === this) servers.delete(this.#port);
    if (onClosed) queueMicrotask(() => onClosed());
    return this;
  }

  closeAllConnections(): void {
    for (const reply of this.#replies) reply.hangUp();
  }

  /** Its program has died, and notices nothing. */
  breakAll(): void {
    for (const reply of this.#replies) reply.break();
  }

  receive(
    { method, path, body, ...reading }: LocalCall,
    onReply: (reply: LocalReply | null) => void,
  ): () => void {
    const { world } = place() as NonNullable<ReturnType<typeof place>>;
    const machine = this.#machine as Machine;
    return world.on(machine, () => {
      const request = new SimulatedRequest(method, path, body ?? "");
      const reply = new SimulatedReply((outcome) => {
        this.#replies.delete(reply);
        onReply(outcome);
      }, reading);
      this.#replies.add(reply);
      this.#handler(request, reply);
      return () => {
        if (this.isAlive) world.on(machine, () => reply.hangUp());
      };
    });
  }
}

/** What code reads of an IncomingMessage. */
class SimulatedRequest extends Readable {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly socket = { remoteAddress: "127.0.0.1", destroyed: false };
  readonly complete = true;

  constructor(method: string, url: string, body: string) {
    super({ read() {} });
    this.method = method;
    this.url = url;
    this.headers = { "content-length": String(Buffer.byteLength(body)) };
    if (body !== "") this.push(Buffer.from(body));
    this.push(null);
  }
}

type Reading = Pick<LocalCall, "readMs" | "isReadWhole" | "onReplying">;

/** What code writes of a ServerResponse. */
class SimulatedReply extends EventEmitter {
  readonly socket = { destroyed: false };
  headersSent = false;
  destroyed = false;
  #status = 200;
  #isWriting = false;
  readonly #onOver: (reply: LocalReply | null) => void;
  readonly #reading: Reading;

  constructor(onOver: (reply: LocalReply | null) => void, reading: Reading) {
    super();
    this.#onOver = onOver;
    this.#reading = reading;
  }

  writeHead(status: number): this {
    this.#status = status;
    this.headersSent = true;
    return this;
  }

  end(body: string | (() => void) = "", onEnd?: () => void): this {
    if (this.destroyed || this.#isWriting) return this;
    this.headersSent = true;
    const { readMs = 0, isReadWhole = true, onReplying } = this.#reading;
    onReplying?.();
    if (readMs > 0 && body !== "") {
      this.#isWriting = true;
      setTimeout(() => (isReadWhole ? this.#finish(body, onEnd) : this.hangUp()), readMs);
    } else this.#finish(body, onEnd);
    return this;
  }

  #finish(body: string | (() => void), onEnd?: () => void): void {
    if (this.destroyed) return;
    const callback = typeof body === "function" ? body : onEnd;
    this.destroyed = true;
    this.#onOver({ status: this.#status, body: typeof body === "function" ? "" : body });
    queueMicrotask(() => {
      this.emit("finish");
      this.emit("close");
      callback?.();
    });
  }

  destroy(): this {
    this.hangUp();
    return this;
  }

  /** The caller is gone, or the connection breaks. */
  hangUp(): void {
    if (this.destroyed) return;
    this.break();
    queueMicrotask(() => this.emit("close"));
  }

  break(): void {
    this.destroyed = true;
    this.socket.destroyed = true;
    this.#onOver(null);
  }
}

export function createServer(handler: Handler): SimulatedServer {
  return new SimulatedServer(handler);
}

/** A WebSocket of the agent to the server of a container of its host, as the package `ws` has it. */
import { EventEmitter } from "node:events";
import { place } from "../../world/globals.ts";
import type { Machine, World } from "../../world/world.ts";
import { serverAt } from "../container-servers.ts";
import { Exchange } from "../exchange.ts";
import { decodeFrame, encodeFrame, NO_CLOSE, NO_CODE, WholeMessages } from "../socket-frames.ts";
import { failure, rejection, SimulatedResponse } from "./http-client.ts";
import { READY_STATE } from "./ready-state.ts";

export type SocketOptions = { readonly finishRequest?: (request: Handshake) => void };
type SendOptions = { readonly binary?: boolean; readonly fin?: boolean };

/** That a URL leaves out. */
const HTTP_PORT = 80;
const CONNECT_MS = 1;
/** A server that does not answer a close is left after this. */
const CLOSE_LIMIT_MS = 30_000;

/** The request that opens it, before it is sent. */
class Handshake {
  path = "/";
  readonly headers = new Map<string, string>([["upgrade", "websocket"]]);

  setHeader(name: string, value: string | readonly string[]): void {
    this.headers.set(name.toLowerCase(), String(value));
  }

  end(): void {}
}

export class ContainerSocket extends EventEmitter {
  readonly bufferedAmount = 0;
  readyState: number = READY_STATE.CONNECTING;
  readonly #world: World;
  readonly #machine: Machine;
  readonly #handshake = new Handshake();
  /** Tells of the bytes that come in. */
  readonly #bytes = new EventEmitter();
  readonly #messages = new WholeMessages();
  #exchange: Exchange | undefined;
  /** An answer that opens no WebSocket. */
  #plain: SimulatedResponse | undefined;
  /** Of pieces that the server has not taken. */
  readonly #untaken: (() => void)[] = [];
  /** What is read once the socket is resumed; null while it is not paused. */
  #held: (() => void)[] | null = null;
  #close = { code: NO_CLOSE, reason: "" };
  #hasSentClose = false;
  #closeTimer: NodeJS.Timeout | undefined;

  constructor(url: URL, { finishRequest }: SocketOptions) {
    super();
    const { world, machine } = place() as NonNullable<ReturnType<typeof place>>;
    this.#world = world;
    this.#machine = machine;
    finishRequest?.(this.#handshake);
    world.schedule(machine, CONNECT_MS, "agent connects", () => this.#connect(url));
  }

  #connect(url: URL): void {
    if (this.readyState !== READY_STATE.CONNECTING) return;
    const { hostname } = url;
    const port = Number(url.port || HTTP_PORT);
    const server = serverAt(hostname, port);
    if (!server) return this.#fail(rejection(hostname, port));
    const head = { method: "GET", target: this.#handshake.path, headers: this.#handshake.headers };
    const exchange = new Exchange(this.#world, this.#machine, server.container, head, {
      answered: (status, headers) => this.#answered(new SimulatedResponse(status, headers)),
      received: (piece) => this.#received(piece),
      ended: () => this.#ended(),
      broken: () => this.#broken(),
      taken: () => this.#untaken.shift()?.(),
    });
    this.#exchange = exchange;
    this.#world.on(server.container.machine, () => server.serve(exchange));
    exchange.sendEnd();
  }

  // What the server does

  #answered(response: SimulatedResponse): void {
    if (this.readyState !== READY_STATE.CONNECTING) return;
    if (response.statusCode !== 101) {
      this.#plain = response;
      this.emit("unexpected-response", this.#handshake, response);
      return;
    }
    this.emit("upgrade", Object.assign(response, { socket: this.#bytes }));
    this.readyState = READY_STATE.OPEN;
    this.emit("open");
  }

  #received(piece: Uint8Array): void {
    if (this.#plain) this.#plain.push(piece);
    else this.#read(() => this.#take(piece));
  }

  #ended(): void {
    if (this.#plain) this.#plain.push(null);
    else this.#read(() => this.#over());
  }

  #broken(): void {
    if (this.#plain) this.#plain.destroy(failure("aborted", "ECONNRESET"));
    else if (this.readyState === READY_STATE.CONNECTING) this.#fail(failure("socket hang up", "ECONNRESET"));
    else this.#read(() => this.#over());
  }

  #take(piece: Uint8Array): void {
    this.#bytes.emit("data", piece);
    const frame = decodeFrame(piece);
    if (frame.kind === "close") {
      this.#close = frame;
      return this.close(frame.code, frame.reason);
    }
    const message = this.#messages.add(frame);
    if (message) this.emit("message", message, frame.kind === "binary");
  }

  #read(act: () => void): void {
    if (this.#held) this.#held.push(act);
    else if (this.readyState !== READY_STATE.CLOSED) act();
  }

  // What the agent does

  send(data: Uint8Array, { binary = true, fin = true }: SendOptions, onSent: () => void): void {
    if (this.readyState !== READY_STATE.OPEN) return process.nextTick(onSent);
    this.#send(
      encodeFrame({ kind: binary ? "binary" : "text", isLast: fin, payload: Uint8Array.from(data) }),
      onSent,
    );
  }

  pong(): void {}

  pause(): void {
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = null;
    while (held.length > 0 && this.#held === null) this.#read(held.shift() as () => void);
    if (this.#held) this.#held = [...held, ...this.#held];
  }

  close(code = NO_CODE, reason = ""): void {
    if (this.readyState === READY_STATE.CONNECTING) return this.terminate();
    if (this.#hasSentClose || this.readyState === READY_STATE.CLOSED) return;
    this.#hasSentClose = true;
    this.readyState = READY_STATE.CLOSING;
    this.#send(encodeFrame({ kind: "close", code, reason }), () => {});
    this.#closeTimer = setTimeout(() => this.terminate(), CLOSE_LIMIT_MS);
  }

  terminate(): void {
    if (this.readyState === READY_STATE.CLOSED) return;
    if (this.readyState === READY_STATE.CONNECTING)
      return this.#fail(new Error("WebSocket was closed before the connection was established"));
    this.readyState = READY_STATE.CLOSING;
    this.#exchange?.hangUp();
    this.#held = null;
    process.nextTick(() => this.#over());
  }

  #send(piece: Uint8Array, onTaken: () => void): void {
    this.#untaken.push(onTaken);
    this.#exchange?.send(piece);
  }

  // Ending

  #fail(error: Error): void {
    if (this.readyState !== READY_STATE.CONNECTING) return;
    this.readyState = READY_STATE.CLOSING;
    this.#exchange?.hangUp();
    this.#plain?.destroy();
    process.nextTick(() => {
      this.emit("error", error);
      this.#over();
    });
  }

  #over(): void {
    if (this.readyState === READY_STATE.CLOSED) return;
    this.readyState = READY_STATE.CLOSED;
    clearTimeout(this.#closeTimer);
    for (const onTaken of this.#untaken.splice(0)) onTaken();
    this.emit("close", this.#close.code, Buffer.from(this.#close.reason));
  }
}

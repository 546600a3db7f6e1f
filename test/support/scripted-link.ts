/**
 * The edge's end of a link, played by a test: a real WebSocket server that speaks the frames. It gives credit as the
 * real one does, unless a test holds it back, and notes every breach of the contract by the agent in `violations`.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import {
  decodeCredit,
  decodeFrames,
  encodeCredit,
  encodeFrames,
  encodeOpen,
  type OpenTarget,
  FLAG_END,
  FLAG_FIN,
  FRAME,
  type Frame,
  NO_PAYLOAD,
  LINK_FRAME_MAX_BYTES,
} from "../../src/link/link-frame.ts";
import {
  type Close,
  closeSchema,
  linkWorkersSchema,
  type RequestHead,
  type Reset,
  resetSchema,
  type ResponseHead,
  responseHeadSchema,
} from "../../src/link/link-messages.ts";
import { LINK_WINDOW_BYTES } from "../../src/link/link-window.ts";

export const LINK_TOKEN = "host-token";
/** Of the link that carries the tunnels of a host. */
export const HOST_LINK_PATH = "/agent/v1/host/link";
export const LINK_PATH = /^\/agent\/v1\/(?:endpoints|pods)\/([^/]+)\/link$/;

const encoder = new TextEncoder();
const bytesOf = (value: unknown) => encoder.encode(JSON.stringify(value));
const json = (payload: Uint8Array): unknown => JSON.parse(Buffer.from(payload).toString());

const REQUEST: RequestHead = { kind: "http", method: "GET", target: "/", headers: [["Host", "app"]] };

/** One request, as the edge sees it. */
export class ScriptedStream {
  readonly #link: ScriptedLink;
  readonly number: number;
  head: ResponseHead | undefined;
  /** The answer's DATA, TEXT and BINARY, each as it came; not kept when `keeps` is false. */
  readonly pieces: { readonly type: number; readonly isLast: boolean; readonly bytes: Buffer }[] = [];
  receivedBytes = 0;
  isEnded = false;
  reset: Reset | undefined;
  closed: Close | undefined;
  keeps = true;
  /** Called with what comes, when it comes. */
  onHead: () => void = () => {};
  onMessagePiece: (type: number, isLast: boolean, bytes: Buffer) => void = () => {};
  /** Gives credit for what comes at once. */
  isReading = true;
  /** What the agent may send, and what may be sent to it. */
  credit = LINK_WINDOW_BYTES;
  open = LINK_WINDOW_BYTES;

  constructor(link: ScriptedLink, number: number) {
    this.#link = link;
    this.number = number;
  }

  get text(): string {
    return Buffer.concat(this.pieces.map(({ bytes }) => bytes)).toString();
  }

  get isOver(): boolean {
    return this.isEnded || this.reset !== undefined || this.closed !== undefined;
  }

  header(name: string): string[] {
    return (this.head?.headers ?? []).filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);
  }

  over(): Promise<this> {
    return this.#link.until(() => this.isOver && this);
  }

  answered(): Promise<ResponseHead> {
    return this.#link.until(() => this.head);
  }

  received(text: string): Promise<true> {
    return this.#link.until(() => this.text.includes(text) || undefined);
  }

  // Sending

  /** All of the bytes, as the agent gives credit. */
  async send(bytes: Uint8Array, { isLast = false } = {}): Promise<void> {
    for (let at = 0; at < bytes.byteLength;) {
      await this.#link.until(() => this.open > 0 || this.isOver);
      if (this.isOver) return;
      const piece = bytes.subarray(at, at + Math.min(this.open, LINK_FRAME_MAX_BYTES));
      this.sendNow(FRAME.DATA, piece);
      at += piece.byteLength;
    }
    if (isLast) this.end();
  }

  sendNow(type: Frame["type"], payload: Uint8Array, flags = 0): void {
    this.open -= payload.byteLength;
    this.#link.send({ type, flags, stream: this.number, payload });
  }

  end(): void {
    this.sendNow(FRAME.DATA, NO_PAYLOAD, FLAG_END);
  }

  message(text: string | Uint8Array): void {
    const payload = typeof text === "string" ? encoder.encode(text) : text;
    this.sendNow(typeof text === "string" ? FRAME.TEXT : FRAME.BINARY, payload, FLAG_FIN);
  }

  close(close: Close): void {
    this.sendNow(FRAME.CLOSE, bytesOf(close));
  }

  abort(): void {
    this.sendNow(FRAME.RESET, bytesOf({ reason: "aborted", detail: "The client is gone." }));
  }

  /** Credit for so many bytes. */
  read(bytes: number): void {
    this.credit += bytes;
    this.#link.send({ type: FRAME.CREDIT, flags: 0, stream: this.number, payload: encodeCredit(bytes) });
  }

  // Receiving

  take({ type, flags, payload }: Frame): void {
    if (this.isOver && type !== FRAME.CREDIT && this.closed === undefined)
      this.#violate("goes on after its end");
    if (type === FRAME.HEAD) this.#takeHead(payload);
    else if (type === FRAME.RESET) this.reset = resetSchema.parse(json(payload));
    else if (type === FRAME.CLOSE) this.closed = closeSchema.parse(json(payload));
    else if (type === FRAME.CREDIT) this.open += decodeCredit(payload) ?? 0;
    else this.#takeBytes(type, flags, payload);
  }

  #takeHead(payload: Uint8Array): void {
    this.head = responseHeadSchema.parse(json(payload));
    this.onHead();
  }

  #takeBytes(type: number, flags: number, payload: Uint8Array): void {
    const { byteLength } = payload;
    if (!this.head) this.#violate("sends bytes before its head");
    if (byteLength > LINK_FRAME_MAX_BYTES) this.#violate(`sends ${byteLength} bytes in one frame`);
    this.credit -= byteLength;
    if (this.credit < 0) this.#violate("sends without credit");
    this.receivedBytes += byteLength;
    const isLast = (flags & (FLAG_END | FLAG_FIN)) !== 0;
    if (type !== FRAME.DATA) this.onMessagePiece(type, isLast, Buffer.from(payload));
    if (this.keeps && byteLength > 0) this.pieces.push({ type, isLast, bytes: Buffer.from(payload) });
    if (type === FRAME.DATA && (flags & FLAG_END) !== 0) this.isEnded = true;
    else if (this.isReading && byteLength > 0) this.read(byteLength);
  }

  #violate(what: string): void {
    this.#link.violations.push(`stream ${this.number} ${what}`);
  }
}

type Noted = {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly bytes: number;
};

export class ScriptedLink {
  readonly violations: string[] = [];
  /** What came, message by message. */
  readonly messages: (readonly Noted[])[] = [];
  /** What the agent said of its workers, each time. */
  readonly said: (readonly string[])[] = [];
  beats = 0;
  pings = 0;
  /** Upgrades that were asked for, with the endpoints. */
  readonly asked: string[] = [];
  /** The status with which upgrades are refused. */
  errorStatus: number | null = null;
  /** Pings get no answer: the connection is half open. */
  isSilent = false;
  readonly #server: Server | null;
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, autoPong: false });
  readonly #streams = new Map<number, ScriptedStream>();
  readonly #watchers = new Set<() => void>();
  #socket: WebSocket | undefined;
  #newest = 0;

  /** Without a server of its own it takes what another one hands it by `accept`. */
  constructor(server: Server | null = null) {
    this.#server = server;
    server?.on("upgrade", (request, socket, head) => this.accept(request, socket, head));
  }

  /** With a server of its own. */
  static async start(): Promise<ScriptedLink> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new ScriptedLink(server);
  }

  get url(): string {
    if (this.#server === null) throw new Error("It has no server of its own.");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.drop();
    this.#server?.closeAllConnections();
    await new Promise((resolve) => (this.#server ? this.#server.close(resolve) : resolve(null)));
  }

  // What a test does

  /** Opens a stream to a worker, or to a port of a pod. A body that is given goes with it in one message. */
  request(
    target: string | OpenTarget,
    head: Partial<RequestHead> = {},
    body?: Uint8Array | "follows",
  ): ScriptedStream {
    return this.open(target, { ...REQUEST, ...head }, body);
  }

  /** The same with any head. */
  open(target: string | OpenTarget, head: object, body?: Uint8Array | "follows"): ScriptedStream {
    this.#newest += 1;
    const stream = new ScriptedStream(this, this.#newest);
    this.#streams.set(this.#newest, stream);
    const open: Frame = {
      type: FRAME.OPEN,
      flags: body === undefined ? FLAG_END : 0,
      stream: stream.number,
      payload: encodeOpen(typeof target === "string" ? { workerId: target } : target, bytesOf(head)),
    };
    if (body === undefined || body === "follows") this.send(open);
    else this.send(open, { type: FRAME.DATA, flags: FLAG_END, stream: stream.number, payload: body });
    return stream;
  }

  send(...frames: readonly Frame[]): void {
    this.#socket?.send(encodeFrames(frames));
  }

  sendRaw(bytes: Uint8Array): void {
    this.#socket?.send(bytes);
  }

  drop(): void {
    this.#socket?.terminate();
  }

  /** Frames of all messages, in their order. */
  get frames(): readonly Noted[] {
    return this.messages.flat();
  }

  async until<T>(find: () => T | undefined | false | null): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined && found !== false && found !== null) return found;
      await new Promise<void>((resolve) => {
        const resume = () => {
          this.#watchers.delete(resume);
          resolve();
        };
        this.#watchers.add(resume);
      });
    }
  }

  /** Something that a test waits for may have changed. */
  changed(): void {
    this.#changed();
  }

  #changed(): void {
    for (const resume of [...this.#watchers]) resume();
  }

  // Serving

  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.asked.push(LINK_PATH.exec(request.url ?? "")?.[1] ?? "");
    if (request.headers.authorization !== `Bearer ${LINK_TOKEN}`) this.violations.push("link without token");
    if (request.headers["sec-websocket-extensions"]) this.violations.push("link with compression");
    socket.on("error", () => {}); // of one that was refused, or dropped
    this.#changed();
    if (this.errorStatus !== null) return void socket.end(`HTTP/1.1 ${this.errorStatus} No\r\n\r\n`);
    this.#sockets.handleUpgrade(request, socket, head, (opened) => this.#greet(opened));
  }

  #greet(socket: WebSocket): void {
    this.#socket = socket;
    socket.on("message", (message: Buffer) => this.#take(message));
    socket.on("ping", () => {
      this.pings += 1;
      if (!this.isSilent) socket.pong();
      this.#changed();
    });
    socket.on("close", () => {
      if (this.#socket === socket) this.#socket = undefined;
      this.#streams.clear();
      this.#changed();
    });
    this.#changed();
  }

  #take(message: Buffer): void {
    const frames = decodeFrames(message);
    if (!frames) return void this.violations.push("a message that is none");
    this.messages.push(
      frames.map(({ type, flags, stream, payload }) => ({ type, flags, stream, bytes: payload.byteLength })),
    );
    for (const frame of frames) {
      if (frame.type === FRAME.BEAT) this.beats += 1;
      else if (frame.type === FRAME.WORKERS)
        this.said.push(linkWorkersSchema.parse(json(frame.payload)).workers);
      else this.#streams.get(frame.stream)?.take(frame);
    }
    this.#changed();
  }
}

/** The package `ws`: WebSockets of programs of a simulated host to the edge. */
import { EventEmitter } from "node:events";
import { ClientSocket } from "../../runtime/client-socket.ts";

type Options = { readonly headers?: Record<string, string>; readonly handshakeTimeout?: number };
type Callback = (error?: Error) => void;

export class WebSocket extends EventEmitter {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readonly bufferedAmount = 0;
  readonly #socket: ClientSocket;
  #isTerminated = false;

  constructor(url: URL | string, options: Options = {}) {
    super();
    this.#socket = new ClientSocket(url, options);
    const socket = this.#socket;
    socket.addEventListener("open", () => this.emit("open"));
    socket.addEventListener("message", ({ data }) => {
      const isBinary = typeof data !== "string";
      this.emit("message", Buffer.from(data as string), isBinary);
    });
    socket.addEventListener("refused", ({ status }) => {
      if (this.listenerCount("unexpected-response") === 0) return;
      this.emit("unexpected-response", {}, { statusCode: status, resume() {}, destroy() {}, on() {} });
    });
    socket.addEventListener("error", () => this.emit("error", new Error("The connection failed.")));
    socket.addEventListener("close", ({ code, reason }) => {
      if (!this.#isTerminated) this.emit("close", code, Buffer.from(String(reason)));
    });
  }

  get readyState(): number {
    return this.#socket.readyState;
  }

  send(data: string | Uint8Array, options?: object | Callback, onSent?: Callback): void {
    const callback = typeof options === "function" ? (options as Callback) : onSent;
    if (this.readyState === WebSocket.OPEN) this.#socket.send(data);
    if (callback) queueMicrotask(() => callback());
  }

  ping(): void {
    if (this.readyState === WebSocket.OPEN) this.#socket.ping(() => this.emit("pong"));
  }

  pong(): void {}
  pause(): void {}
  resume(): void {}

  close(code?: number, reason?: string): void {
    this.#socket.close(code, reason);
  }

  terminate(): void {
    if (this.#isTerminated) return;
    this.#isTerminated = true;
    this.#socket.close();
    queueMicrotask(() => this.emit("close", 1006, Buffer.alloc(0)));
  }
}

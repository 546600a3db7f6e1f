/** A WebSocket of the agent to the edge, as the package `ws` has it. */
import { EventEmitter } from "node:events";
import { ClientSocket } from "../../runtime/client-socket.ts";
import { READY_STATE } from "./ready-state.ts";

export type EdgeSocketOptions = {
  readonly headers?: Record<string, string>;
  readonly handshakeTimeout?: number;
};
type Callback = (error?: Error) => void;

export class EdgeSocket extends EventEmitter {
  readonly bufferedAmount = 0;
  readonly #socket: ClientSocket;
  #isTerminated = false;

  constructor(url: URL | string, options: EdgeSocketOptions = {}) {
    super();
    this.#socket = new ClientSocket(url, options);
    const socket = this.#socket;
    socket.addEventListener("open", () => this.emit("open"));
    socket.addEventListener("message", ({ data }) => {
      const isBinary = typeof data !== "string";
      if (!this.#isTerminated) this.emit("message", Buffer.from(data as string), isBinary);
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
    if (this.readyState === READY_STATE.OPEN) this.#socket.send(data);
    if (callback) queueMicrotask(() => callback());
  }

  ping(): void {
    if (this.readyState === READY_STATE.OPEN) this.#socket.ping(() => this.emit("pong"));
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

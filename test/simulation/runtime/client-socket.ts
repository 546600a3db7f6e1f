/** The WebSocket of a client: `new WebSocket(url)`, to the edge. */
import { SimulatedSocket } from "./sockets.ts";

type Event = {
  readonly data?: unknown;
  readonly status?: number;
  /** Of the server, that opens the WebSocket or refuses it. */
  readonly response?: Response;
  readonly code?: number;
  readonly reason?: string;
};
type Listener = (event: Event) => void;
type Options = { readonly headers?: Record<string, string> };

export class ClientSocket {
  static readonly CONNECTING = SimulatedSocket.CONNECTING;
  static readonly OPEN = SimulatedSocket.OPEN;
  static readonly CLOSING = SimulatedSocket.CLOSING;
  static readonly CLOSED = SimulatedSocket.CLOSED;
  #socket: SimulatedSocket | undefined;
  #state: number = ClientSocket.CONNECTING;
  /** Of the client, while the server has not answered. */
  readonly #gone = new AbortController();
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(url: URL | string, { headers = {} }: Options = {}) {
    void this.#open(new URL(url), headers);
  }

  get readyState(): number {
    return this.#socket?.readyState ?? this.#state;
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, (this.#listeners.get(type) ?? new Set()).add(listener));
  }

  send(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#socket?.send(data);
  }

  ping(answered: () => void): void {
    this.#socket?.ping(answered);
  }

  close(code?: number, reason?: string): void {
    if (this.#socket) return this.#socket.close(code, reason);
    this.#state = ClientSocket.CLOSING;
    this.#gone.abort();
  }

  /** The program or its network is gone: nothing happens here any more, and the server sees the connection break. */
  vanish(): void {
    this.#listeners.clear();
    if (this.#socket) this.#socket.breakFrom();
    else this.close();
  }

  async #open(url: URL, headers: Record<string, string>): Promise<void> {
    const target = url.href.replace(/^ws/, "http");
    try {
      const { signal } = this.#gone;
      const response = await fetch(target, { headers: { ...headers, Upgrade: "websocket" }, signal });
      const { webSocket } = response as Response & { readonly webSocket?: SimulatedSocket | null };
      if (!webSocket) {
        this.#emit("refused", { status: response.status, response });
        throw new Error(`The server answered ${response.status}.`);
      }
      this.#opened(webSocket, response);
    } catch {
      this.#state = ClientSocket.CLOSED;
      this.#emit("error", {});
      this.#emit("close", { code: 1006, reason: "" });
    }
  }

  #opened(socket: SimulatedSocket, response: Response): void {
    this.#socket = socket;
    socket.addEventListener("message", (event) => this.#emit("message", event));
    socket.addEventListener("close", (event) => this.#emit("close", event));
    this.#emit("open", { response });
    socket.accept();
  }

  #emit(type: string, event: Event): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event);
  }
}

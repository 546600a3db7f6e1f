/** A client with a WebSocket to a worker: opens it, sends messages, and closes it, lets the worker close it, or vanishes. */
import { GOODBYE, type SocketMessage } from "../host/served-socket.ts";
import { ClientSocket } from "../runtime/client-socket.ts";
import type { World } from "../world/world.ts";
import { CLIENT_CODE, type Conversations } from "./conversations.ts";

export type SocketUseParts = {
  readonly world: World;
  readonly mark: string;
  readonly conversations: Conversations;
  readonly connect: () => ClientSocket;
  readonly patienceMs: number;
  readonly opened: (response: Response) => void;
  /** The server answers as to any request; its client may be gone before it has all of the answer. */
  readonly refused: (response: Response, gone: AbortSignal) => Promise<void>;
};

const MESSAGES_MAX = 4;
const PAUSE_MS = 200;
const SIZES: readonly number[] = [0, 10, 10, 1_000];
/** More than the edge may send at once: what follows waits for the agent. */
const LARGE = 150_000;
const LARGE_AT_LAST = 0.5;
const VANISHING = 0.2;

export class SocketUse {
  readonly #parts: SocketUseParts;
  readonly #over = Promise.withResolvers<void>();
  readonly #socket: ClientSocket;
  readonly #gone = new AbortController();
  #hasClosed = false;
  #wanted: (() => void) | undefined;

  constructor(parts: SocketUseParts) {
    this.#parts = parts;
    this.#socket = parts.connect();
    this.#watch(this.#socket);
  }

  /** Until it is over for its client. */
  async run(): Promise<void> {
    const timer = setTimeout(() => this.#vanish(), this.#parts.patienceMs);
    await this.#over.promise;
    clearTimeout(timer);
  }

  #watch(socket: ClientSocket): void {
    const { mark, conversations, opened, refused, world } = this.#parts;
    let rejection: Promise<void> | undefined;
    socket.addEventListener("open", ({ response }) => {
      if (response) opened(response);
      void this.#talk();
    });
    socket.addEventListener("refused", ({ response }) => {
      if (response) rejection = refused(response, this.#gone.signal).catch(() => {}); // its answer broke off
    });
    socket.addEventListener("message", ({ data }) => {
      conversations.clientGot(mark, messageOf(data));
      if (conversations.isAnswered(mark)) this.#wanted?.();
    });
    socket.addEventListener("close", ({ code = 1006 }) => {
      if (rejection) return void rejection.then(() => this.#over.resolve());
      world.note("clients", `the WebSocket ${mark} closes with ${code}`);
      conversations.clientTold(mark, code, this.#hasClosed);
      this.#wanted?.();
      this.#over.resolve();
    });
  }

  async #talk(): Promise<void> {
    const { random } = this.#parts.world;
    for (let number = random.whole(0, MESSAGES_MAX); number > 0; number -= 1) {
      await pause(random.delay(PAUSE_MS));
      const isLarge = number === 1 && random.chance(LARGE_AT_LAST);
      const size = isLarge ? LARGE : random.pick(SIZES);
      this.#send({
        isBinary: random.chance(0.5),
        text: `${this.#parts.mark} sends ${number} ${"x".repeat(size)}`,
      });
    }
    if (random.chance(VANISHING)) return this.#vanish();
    if (random.chance(0.4)) return this.#send({ isBinary: false, text: GOODBYE });
    if (random.chance(0.3)) await this.#untilAnswered();
    this.#close();
  }

  #send(message: SocketMessage): void {
    const { mark, conversations } = this.#parts;
    if (this.#socket.readyState !== ClientSocket.OPEN) return;
    conversations.clientSends(mark, message);
    this.#socket.send(message.isBinary ? Buffer.from(message.text) : message.text);
  }

  async #untilAnswered(): Promise<void> {
    const { mark, conversations } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wanted = resolve;
    if (!conversations.isAnswered(mark) && this.#socket.readyState === ClientSocket.OPEN) await promise;
  }

  #close(): void {
    if (this.#socket.readyState !== ClientSocket.OPEN) return;
    this.#hasClosed = true;
    this.#socket.close(CLIENT_CODE);
  }

  /** Its network is gone, or its user. */
  #vanish(): void {
    this.#parts.world.note("clients", `the client of ${this.#parts.mark} vanishes`);
    this.#gone.abort();
    this.#socket.vanish();
    this.#over.resolve();
  }
}

function messageOf(data: unknown): SocketMessage {
  if (typeof data === "string") return { isBinary: false, text: data };
  return { isBinary: true, text: Buffer.from(data as ArrayBuffer).toString() };
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

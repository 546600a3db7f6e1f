/** A WebSocket in a worker: it sends back each message after a while, and has some of its own to say. */
import type { Container } from "./containers.ts";
import type { Exchange } from "./exchange.ts";
import { MARK_HEADER } from "./marks.ts";
import type { RequestProgram } from "./request-worker.ts";
import { decodeFrame, encodeFrame, type SocketFrame, WholeMessages } from "./socket-frames.ts";

/** What an observer learns of a WebSocket in a worker. */
export type SocketObserver = {
  /** The worker has read a message. */
  readonly workerGot: (mark: string, message: SocketMessage) => void;
  readonly workerSends: (mark: string, message: SocketMessage) => void;
  /** It has read that the client closes. */
  readonly workerTold: (mark: string, code: number) => void;
};

export type SocketMessage = { readonly isBinary: boolean; readonly text: string };

/** The worker shall close. */
export const GOODBYE = "goodbye";
/** With which a worker closes that has said all. */
export const WORKER_CODE = 4001;

const OPEN_MAX_MS = 1_000;
const ECHO_MS = 30;
const OWN_MS = 200;
const OWN_MAX = 3;
const STALL_MAX_MS = 3_000;
const SIZES: readonly number[] = [0, 0, 10, 10, 1_000, 150_000];

export class ServedSocket {
  readonly #program: RequestProgram;
  readonly #container: Container;
  readonly #exchange: Exchange;
  readonly #mark: string;
  readonly #messages = new WholeMessages();
  /** When all that it wants to say so far is said. */
  #saidAt = 0;
  #hangs = false;
  #hasClosed = false;
  #isOver = false;

  constructor(program: RequestProgram, container: Container, exchange: Exchange) {
    this.#program = program;
    this.#container = container;
    this.#exchange = exchange;
    this.#mark = exchange.head.headers.get(MARK_HEADER) ?? "";
  }

  start(): void {
    const { world, containers, observer } = this.#program;
    this.#exchange.serveBy({
      received: (piece) => this.#take(decodeFrame(piece)),
      ended: () => this.#openLater(),
      clientGone: () => this.#over(),
    });
    world.note(this.#container.machine, `begins the WebSocket ${this.#mark}`);
    observer.began(this.#mark, this.#container, this.#exchange.head.headers);
    containers.noticed();
  }

  #openLater(): void {
    const { world, faults } = this.#program;
    const { random } = world;
    const { handlerMs, hangs } = faults(this.#container.spec);
    this.#hangs = random.chance(hangs);
    this.#later(1 + random.delay(Math.min(handlerMs, OPEN_MAX_MS)), () => {
      if (!this.#hangs && !this.#breaksOff()) this.#open();
    });
  }

  #open(): void {
    const { random } = this.#program.world;
    this.#exchange.answer(101, { upgrade: "websocket", connection: "upgrade", [MARK_HEADER]: this.#mark });
    for (let number = random.whole(0, OWN_MAX); number > 0; number -= 1) {
      const text = `${this.#mark} says ${number} ${"y".repeat(random.pick(SIZES))}`;
      this.#later(random.delay(OWN_MS), () => this.#sayLater({ isBinary: random.chance(0.5), text }));
    }
  }

  #take(frame: SocketFrame): void {
    if (this.#isOver) return;
    if (frame.kind === "close") return this.#noteClose(frame.code);
    const bytes = this.#messages.add(frame);
    if (bytes === undefined || this.#hasClosed) return;
    const message = { isBinary: frame.kind === "binary", text: bytes.toString() };
    this.#program.sockets.workerGot(this.#mark, message);
    if (this.#hangs) return;
    if (message.text === GOODBYE) this.#inTurn(() => this.#close(WORKER_CODE));
    else if (!this.#breaksOff()) this.#sayLater(message);
  }

  #sayLater(message: SocketMessage): void {
    this.#inTurn(() => this.#say(message));
  }

  /** After all that it wants to say already. */
  #inTurn(act: () => void): void {
    const { world, faults } = this.#program;
    const { random, now } = world;
    const delayMs = random.chance(faults(this.#container.spec).stalls)
      ? random.whole(0, STALL_MAX_MS)
      : random.delay(ECHO_MS);
    this.#saidAt = Math.max(this.#saidAt, now) + delayMs;
    this.#later(this.#saidAt - now, act);
  }

  #say(message: SocketMessage): void {
    if (this.#hasClosed) return;
    this.#program.sockets.workerSends(this.#mark, message);
    const kind = message.isBinary ? "binary" : "text";
    this.#exchange.write(encodeFrame({ kind, isLast: true, payload: Buffer.from(message.text) }));
  }

  /** Its client closes; its server answers that whatever the program does. */
  #noteClose(code: number): void {
    this.#program.sockets.workerTold(this.#mark, code);
    this.#close(code);
    this.#over();
    this.#exchange.end();
  }

  #close(code: number): void {
    if (this.#hasClosed) return;
    this.#hasClosed = true;
    this.#exchange.write(encodeFrame({ kind: "close", code, reason: "" }));
  }

  /** Breaks off, as programs with faults do. */
  #breaksOff(): boolean {
    const { world, faults, containers } = this.#program;
    const { fails, dies } = faults(this.#container.spec);
    if (!world.random.chance(Math.max(fails, dies) / 3)) return false;
    this.#over();
    if (dies > 0) containers.exit(this.#container, 1);
    else this.#exchange.break();
    return true;
  }

  #later(delayMs: number, act: () => void): void {
    setTimeout(() => {
      if (!this.#isOver) act();
    }, delayMs);
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#program.observer.ended(this.#mark, this.#container);
  }
}

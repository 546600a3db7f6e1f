/**
 * WebSockets between machines. Messages arrive in their order, each after a delay; a connection may break, so that one
 * end or neither learns of it.
 */
import { place } from "../world/globals.ts";
import type { Machine, World } from "../world/world.ts";

export type SocketMessage = string | ArrayBuffer;

/** What takes the events of an end. */
export type SocketHandler = {
  readonly machine: Machine;
  message(data: SocketMessage): void;
  close(code: number, reason: string, wasClean: boolean): void;
};

type Listener = (event: Record<string, unknown>) => void;

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

/** Closes without a closing handshake. */
const ABNORMAL = 1006;

/** Runs an act of the code on a machine when it may leave: objects hold back what depends on writes. */
export type Gate = (machine: Machine, act: () => void) => void;

export class SimulatedSocket {
  static readonly CONNECTING = CONNECTING;
  static readonly OPEN = OPEN;
  static readonly CLOSING = CLOSING;
  static readonly CLOSED = CLOSED;
  readyState = OPEN;
  binaryType = "arraybuffer";
  readonly #network: SocketNetwork;
  #peer: SimulatedSocket | undefined;
  #handler: SocketHandler | undefined;
  #life = 0;
  /** What came before there was a handler. */
  #early: (() => void)[] = [];
  #attachment: unknown = null;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Messages that were sent earlier arrive earlier. */
  #arrivesAt = 0;
  /** The last message that was sent has arrived, and its sender cannot learn of it. */
  #isUnconfirmed = false;
  /** What waits until the network works again; what is sent meanwhile waits behind it. */
  #held: ((peer: SimulatedSocket) => void)[] = [];
  #hasSentClose = false;
  #hasReceivedClose = false;

  constructor(network: SocketNetwork) {
    this.#network = network;
  }

  pairWith(peer: SimulatedSocket): void {
    this.#peer = peer;
    peer.#peer = this;
  }

  // What code calls

  accept(): void {
    const { machine } = place() as { machine: Machine };
    this.handleBy({
      machine,
      message: (data) => this.#emit("message", { data }),
      close: (code, reason, wasClean) => {
        this.takeClose();
        if (wasClean) this.close(code, reason);
        this.#emit("close", { code, reason, wasClean });
      },
    });
    // The system of a program that dies closes its connections.
    machine.whenCrashed.add(this.#crashed);
  }

  addEventListener(type: string, listener: Listener): void {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener));
  }

  removeEventListener(type: string, listener: Listener): void {
    this.#listeners.get(type)?.delete(listener);
  }

  send(data: string | ArrayBuffer | ArrayBufferView): void {
    if (this.readyState !== OPEN) throw new TypeError("Can't call WebSocket send() after close().");
    const message = typeof data === "string" ? data : copyOf(data);
    this.#transmit((peer) => peer.#receive(message));
  }

  /** The runtime of the other end answers by itself. */
  ping(answered: () => void): void {
    const { machine } = this.#handler ?? {};
    this.#send((peer) => peer.#send(() => machine && this.#network.world.on(machine, answered)));
  }

  close(code = 1000, reason = ""): void {
    if (
      code !== 1000 &&
      (code < 3000 || code > 4999) &&
      ![1001, 1002, 1003, 1007, 1008, 1009, 1011, 1012, 1013].includes(code)
    ) {
      throw new DOMException(`Invalid WebSocket close code: ${code}.`, "InvalidAccessError");
    }
    if (this.#hasSentClose || this.readyState === CLOSED) return;
    this.#hasSentClose = true;
    this.readyState = this.readyState === CLOSING ? CLOSED : CLOSING;
    this.#transmit((peer) => peer.#receiveClose(code, reason));
  }

  serializeAttachment(value: unknown): void {
    this.#attachment = structuredClone(value);
  }

  deserializeAttachment(): unknown {
    return structuredClone(this.#attachment);
  }

  // What the runtime calls

  handleBy(handler: SocketHandler): void {
    this.#handler = handler;
    this.#life = handler.machine.life;
    const early = this.#early;
    this.#early = [];
    for (const act of early) act();
  }

  /** The other end has closed, as the code of this one learns now. */
  takeClose(): void {
    this.#hasReceivedClose = true;
    if (this.readyState !== CLOSED) this.readyState = this.#hasSentClose ? CLOSED : CLOSING;
  }

  /** The end is kept by the runtime while the machine's memory is lost. */
  surviveEviction(): void {
    this.#life = this.#handler?.machine.life ?? 0;
  }

  #crashed = (): void => this.breakFrom();

  /** The machine of this end has crashed: the other one sees the connection break, if anything arrives there. */
  breakFrom(): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.#send((peer) => peer.#lost());
  }

  /** The connection is gone: both ends learn of it after a while. */
  breakBoth(): void {
    this.breakFrom();
    this.#peer?.breakFrom();
    this.#later(() => this.#lost());
  }

  get isOpen(): boolean {
    return this.readyState === OPEN;
  }

  /** Nothing comes any more. */
  get isOver(): boolean {
    return this.#hasReceivedClose || this.readyState === CLOSED;
  }

  #receive(data: SocketMessage): void {
    if (this.readyState === CLOSED) return;
    this.#handle((handler) => handler.message(data));
  }

  #receiveClose(code: number, reason: string): void {
    if (this.readyState === CLOSED) return;
    this.#handle((handler) => handler.close(code, reason, true));
  }

  #lost(): void {
    if (this.readyState === CLOSED && this.#hasSentClose) return;
    this.readyState = CLOSED;
    this.#handle((handler) => handler.close(ABNORMAL, "", false));
  }

  #handle(act: (handler: SocketHandler) => void): void {
    const handler = this.#handler;
    if (!handler) return void this.#early.push(() => this.#handle(act));
    if (handler.machine.life !== this.#life) return;
    this.#network.world.on(handler.machine, () => act(handler));
  }

  #emit(type: string, event: Record<string, unknown>): void {
    for (const listener of [...(this.#listeners.get(type) ?? [])]) listener(event);
  }

  #transmit(deliver: (peer: SimulatedSocket) => void): void {
    const machine = place()?.machine;
    if (machine) this.#network.gate(machine, () => this.#send(deliver));
    else this.#send(deliver);
  }

  #send(deliver: (peer: SimulatedSocket) => void): void {
    const peer = this.#peer;
    if (!peer) return;
    if (this.#held.length > 0 || this.#isHeld()) return void this.#held.push(deliver);
    const { world, carrier, delayMs } = this.#network;
    this.#arrivesAt = Math.max(this.#arrivesAt, world.now + delayMs());
    world.schedule(carrier, this.#arrivesAt - world.now, "socket", () => deliver(peer));
  }

  #isHeld(): boolean {
    const [from, to] = [this.#handler?.machine, (this.#peer && this.#peer.#handler)?.machine];
    const { holds, isCut } = this.#network;
    const sendAgain = (): void => this.#sendHeld();
    if (holds(from, to, sendAgain)) return true;
    // A small message leaves only when it is known that those before it have arrived.
    if (this.#isUnconfirmed && holds(to, from, sendAgain)) return true;
    this.#isUnconfirmed = isCut(to, from);
    return false;
  }

  #sendHeld(): void {
    if (this.#isHeld()) return;
    const held = this.#held;
    this.#held = [];
    for (const deliver of held) this.#send(deliver);
  }

  #later(act: () => void): void {
    const { world, carrier, delayMs } = this.#network;
    world.schedule(carrier, delayMs(), "socket breaks", act);
  }
}

export type SocketNetwork = {
  readonly world: World;
  /** Carries what is on its way: it never crashes. */
  readonly carrier: Machine;
  readonly gate: Gate;
  readonly delayMs: () => number;
  /** Whether nothing arrives from the one machine at the other at present; `act` runs when it is sent once more. */
  readonly holds: (from: Machine | undefined, to: Machine | undefined, act: () => void) => boolean;
  readonly isCut: (from: Machine | undefined, to: Machine | undefined) => boolean;
};

export function socketPair(network: SocketNetwork): { 0: SimulatedSocket; 1: SimulatedSocket } {
  const ends = { 0: new SimulatedSocket(network), 1: new SimulatedSocket(network) };
  ends[0].pairWith(ends[1]);
  return ends;
}

function copyOf(data: ArrayBuffer | ArrayBufferView): ArrayBuffer {
  const view = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  return view.slice().buffer;
}

/**
 * What code takes from its runtime without being given it: time, timers, random numbers. On a machine of a world they
 * are that world's; elsewhere they stay as they are.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  timingSafeEqual,
  webcrypto,
} from "node:crypto";
import { type Machine, SimulatedTimer, World } from "./world.ts";

let world: World | undefined;

/** All code on machines belongs to this world from now on. */
export function enterWorld(entered: World | undefined): void {
  world = entered;
}

/** The world and machine of the code that runs; undefined for code of the simulator. */
export function place(): { readonly world: World; readonly machine: Machine } | undefined {
  const machine = World.current();
  return world && machine ? { world, machine } : undefined;
}

const real = {
  now: Date.now,
  performanceNow: performance.now.bind(performance),
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  random: Math.random,
  timeoutSignal: AbortSignal.timeout.bind(AbortSignal),
};

type Callback = (...values: unknown[]) => void;

function startTimer(delayMs: number, act: () => void): SimulatedTimer {
  const { world: here, machine } = place() as { world: World; machine: Machine };
  const timer = new SimulatedTimer();
  machine.timers.add(timer);
  timer.event = here.schedule(machine, Number.isFinite(delayMs) ? delayMs : 1, "timer", () => {
    machine.timers.delete(timer);
    act();
  });
  return timer;
}

function stopTimer(timer: unknown): boolean {
  if (!(timer instanceof SimulatedTimer)) return false;
  if (timer.event) timer.event.isCancelled = true;
  for (const machine of [World.current()]) machine?.timers.delete(timer);
  return true;
}

function simulatedTimeout(callback: Callback, delayMs = 0, ...values: unknown[]): unknown {
  if (!place()) return real.setTimeout(callback, delayMs, ...values);
  return startTimer(Math.max(1, delayMs), () => callback(...values));
}

function simulatedInterval(callback: Callback, delayMs = 0, ...values: unknown[]): unknown {
  if (!place()) return real.setInterval(callback, delayMs, ...values);
  const period = Math.max(1, delayMs);
  const timer = startTimer(period, function again() {
    const next = startTimer(period, again);
    timer.event = next.event;
    callback(...values);
  });
  return timer;
}

function simulatedImmediate(callback: Callback, ...values: unknown[]): unknown {
  if (!place()) return real.setImmediate(callback, ...values);
  return startTimer(0, () => callback(...values));
}

/** Epoch ms by the clock of the machine. */
export function machineNow(): number {
  const here = place();
  return here ? Math.floor(here.world.now + here.machine.clockAheadMs) : real.now();
}

class SimulatedDate extends Date {
  constructor(...values: unknown[]) {
    if (values.length === 0) super(machineNow());
    else super(...(values as [number]));
  }

  static override now(): number {
    return machineNow();
  }
}

type Bytes = ArrayBuffer | ArrayBufferView;
type Key = { readonly secret: Uint8Array };
type Derivation = { readonly hash: string; readonly salt: Bytes; readonly info: Bytes };
type Sealing = { readonly iv: Bytes; readonly additionalData: Bytes };

/** Behind what AES-GCM has encrypted. */
const TAG_BYTES = 16;

/** Crypto operations of which the result is there at once, so that no thread decides when they end. */
const subtle = {
  async digest(algorithm: string | { readonly name: string }, data: Bytes): Promise<ArrayBuffer> {
    const name = (typeof algorithm === "string" ? algorithm : algorithm.name).replace("-", "").toLowerCase();
    return exactBuffer(createHash(name).update(bytesOf(data)).digest());
  },
  async importKey(_format: string, key: Bytes): Promise<Key> {
    return { secret: bytesOf(key).slice() };
  },
  async deriveKey({ hash, salt, info }: Derivation, { secret }: Key, purpose: { readonly length: number }) {
    const name = hash.replace("-", "").toLowerCase();
    const derived = hkdfSync(name, secret, bytesOf(salt), bytesOf(info), purpose.length / 8);
    return { secret: new Uint8Array(derived) };
  },
  async sign(_algorithm: unknown, { secret }: Key, data: Bytes) {
    return exactBuffer(createHmac("sha256", secret).update(bytesOf(data)).digest());
  },
  async encrypt({ iv, additionalData }: Sealing, { secret }: Key, data: Bytes): Promise<ArrayBuffer> {
    const cipher = createCipheriv("aes-256-gcm", secret, bytesOf(iv)).setAAD(bytesOf(additionalData));
    return exactBuffer(Buffer.concat([cipher.update(bytesOf(data)), cipher.final(), cipher.getAuthTag()]));
  },
  async decrypt({ iv, additionalData }: Sealing, { secret }: Key, data: Bytes): Promise<ArrayBuffer> {
    const bytes = bytesOf(data);
    const end = bytes.length - TAG_BYTES;
    const cipher = createDecipheriv("aes-256-gcm", secret, bytesOf(iv)).setAAD(bytesOf(additionalData));
    cipher.setAuthTag(bytes.subarray(end));
    return exactBuffer(Buffer.concat([cipher.update(bytes.subarray(0, end)), cipher.final()]));
  },
  timingSafeEqual: (one: Uint8Array, other: Uint8Array): boolean => timingSafeEqual(one, other),
};

function bytesOf(data: Bytes): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

function exactBuffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function simulatedUuid(): string {
  const here = place();
  if (!here) return webcrypto.randomUUID();
  const bytes = new Uint8Array(16);
  here.world.random.bytes(bytes);
  const hex = Array.from(bytes, (byte) => HEX[byte]).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

function simulatedValues<Array extends ArrayBufferView>(array: Array): Array {
  const here = place();
  if (!here) return webcrypto.getRandomValues(array as never);
  here.world.random.bytes(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  return array;
}

function simulatedTimeoutSignal(delayMs: number): AbortSignal {
  if (!place()) return real.timeoutSignal(delayMs);
  const controller = new AbortController();
  startTimer(delayMs, () => controller.abort(new DOMException("The operation timed out.", "TimeoutError")));
  return controller.signal;
}

/** To be called once in a process. */
export function installGlobals(): void {
  const patched: Record<string, unknown> = {
    Date: SimulatedDate,
    setTimeout: simulatedTimeout,
    setInterval: simulatedInterval,
    setImmediate: simulatedImmediate,
    clearTimeout: (timer: never) => stopTimer(timer) || real.clearTimeout(timer),
    clearInterval: (timer: never) => stopTimer(timer) || real.clearInterval(timer),
    clearImmediate: (timer: never) => stopTimer(timer) || real.clearImmediate(timer),
    scheduler: { wait: (delayMs: number) => new Promise((resolve) => simulatedTimeout(resolve, delayMs)) },
  };
  for (const [name, value] of Object.entries(patched)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  performance.now = () => (place() ? (world as World).elapsedMs : real.performanceNow());
  Math.random = () => (place() ? (world as World).random.fraction() : real.random());
  AbortSignal.timeout = simulatedTimeoutSignal;
  const crypto = { randomUUID: simulatedUuid, getRandomValues: simulatedValues, subtle };
  Object.defineProperty(globalThis, "crypto", { value: crypto, configurable: true, writable: true });
}

/**
 * Counts calls of objects, the time in which at least one is inside or a timer keeps the object from sleeping, and
 * rows: what objects are billed for. The counts outlive the objects, which lose their memory when they hibernate.
 */
import { AsyncLocalStorage } from "node:async_hooks";

type ObjectKind = "endpoint" | "fleet";
type Reading = { calls: Record<string, number>; awakeMs: number; rowsRead: number; rowsWritten: number };

/** An object that knows its rows since it woke. */
type Vital = { vitals?(): Promise<Pick<Reading, "rowsRead" | "rowsWritten">> };

/** Methods that are no requests: what the runtime tells an object of its sockets' ends, and the rows for the meter. */
const FREE = new Set(["constructor", "vitals", "webSocketClose", "webSocketError"]);

const readings: Record<ObjectKind, Reading> = {
  endpoint: { calls: {}, awakeMs: 0, rowsRead: 0, rowsWritten: 0 },
  fleet: { calls: {}, awakeMs: 0, rowsRead: 0, rowsWritten: 0 },
};

/** What was counted since the script started; no rows of objects that do not count theirs. */
export function reading(): Readonly<Record<ObjectKind, Readonly<Reading>>> {
  return readings;
}

type Method = (this: Vital, ...args: unknown[]) => unknown;
type ObjectClass = { readonly prototype: object };

/** Puts a meter around each method that `real` declares, by overriding it in `metered`, its subclass. */
export function meterCalls(metered: ObjectClass, real: ObjectClass, kind: ObjectKind): void {
  const stays = new WeakMap<Vital, Stay>();
  for (const name of Object.getOwnPropertyNames(real.prototype)) {
    const method: unknown = Object.getOwnPropertyDescriptor(real.prototype, name)?.value;
    if (typeof method !== "function" || FREE.has(name)) continue;
    const value = async function (this: Vital, ...args: unknown[]): Promise<unknown> {
      const stay = stays.get(this) ?? new Stay(readings[kind]);
      stays.set(this, stay);
      stay.enter(name);
      try {
        return await within.run(stay, () => (method as Method).apply(this, args));
      } finally {
        stay.leave();
        await stay.countRows(this);
      }
    };
    Object.defineProperty(metered.prototype, name, { value, writable: true, configurable: true });
  }
}

/** The calls inside one object, since it woke. */
class Stay {
  readonly #reading: Reading;
  #inside = 0;
  #since = 0;
  #rowsRead = 0;
  #rowsWritten = 0;

  constructor(of: Reading) {
    this.#reading = of;
  }

  enter(method: string): void {
    this.#reading.calls[method] = (this.#reading.calls[method] ?? 0) + 1;
    this.hold();
  }

  /** Something but a call keeps the object awake. */
  hold(): void {
    if (this.#inside === 0) this.#since = performance.now();
    this.#inside += 1;
  }

  leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) this.#reading.awakeMs += performance.now() - this.#since;
  }

  /** Adds the rows since the last call, those of waking before the first one. */
  async countRows(object: Vital): Promise<void> {
    const vitals = await object.vitals?.();
    if (!vitals) return;
    this.#reading.rowsRead += vitals.rowsRead - this.#rowsRead;
    this.#reading.rowsWritten += vitals.rowsWritten - this.#rowsWritten;
    this.#rowsRead = vitals.rowsRead;
    this.#rowsWritten = vitals.rowsWritten;
  }
}

/** Whose turn it is, so that timers are known as those of objects. */
const within = new AsyncLocalStorage<Stay>();

/** From now on timers that objects set count as time awake. */
export function meterTimers(): void {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const held = new Map<unknown, Stay>();
  const letGo = (timer: unknown): void => {
    held.get(timer)?.leave();
    held.delete(timer);
  };
  const setMetered = (callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): unknown => {
    const stay = within.getStore();
    if (!stay) return set(callback, ms, ...args);
    stay.hold();
    const timer: unknown = set(() => {
      letGo(timer);
      callback(...args);
    }, ms);
    held.set(timer, stay);
    return timer;
  };
  const clearMetered = (timer: unknown): void => {
    letGo(timer);
    clear(timer as number);
  };
  Object.assign(globalThis, { setTimeout: setMetered, clearTimeout: clearMetered });
}

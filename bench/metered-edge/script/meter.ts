/**
 * Counts calls of objects, the time in which at least one is inside or a timer keeps the object from sleeping, and
 * rows: what objects are billed for. The counts outlive the objects, which lose their memory when they hibernate.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** Enough of a statement to tell it from others. */
const STATEMENT_LENGTH = 90;

type ObjectKind = "endpoint" | "fleet";
type Rows = { read: number; written: number };
type Reading = { calls: Record<string, number>; awakeMs: number; rows: Record<string, Rows> };

/** Methods that are no requests: what the runtime tells an object of its sockets' ends, and what only tests read. */
const FREE = new Set(["constructor", "vitals", "webSocketClose", "webSocketError"]);

const readings: Record<ObjectKind, Reading> = {
  endpoint: { calls: {}, awakeMs: 0, rows: {} },
  fleet: { calls: {}, awakeMs: 0, rows: {} },
};

/** What was counted since the script started; rows by statement. */
export function reading(): Readonly<Record<ObjectKind, Readonly<Reading>>> {
  for (const count of uncounted.splice(0)) count();
  return readings;
}

type Method = (this: object, ...args: unknown[]) => unknown;
type ObjectClass = { readonly prototype: object };

/** Puts a meter around each method that `real` declares, by overriding it in `metered`, its subclass. */
export function meterCalls(metered: ObjectClass, real: ObjectClass, kind: ObjectKind): void {
  const stays = new WeakMap<object, Stay>();
  for (const name of Object.getOwnPropertyNames(real.prototype)) {
    const method: unknown = Object.getOwnPropertyDescriptor(real.prototype, name)?.value;
    if (typeof method !== "function" || FREE.has(name)) continue;
    const value = async function (this: object, ...args: unknown[]): Promise<unknown> {
      const stay = stays.get(this) ?? new Stay(readings[kind]);
      stays.set(this, stay);
      stay.enter(name);
      try {
        return await within.run(stay, () => (method as Method).apply(this, args));
      } finally {
        stay.leave();
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

/** Cursors that were not read to their end when they were made. */
const uncounted: (() => void)[] = [];

/** Counts the rows of an object's storage by statement, those of waking included. An alarm that is set is a row. */
export function meterStorage({ storage }: DurableObjectState, kind: ObjectKind): void {
  const { rows } = readings[kind];
  const add = (statement: string, { read, written }: Rows): void => {
    const known = (rows[statement] ??= { read: 0, written: 0 });
    known.read += read;
    known.written += written;
  };
  const { sql } = storage;
  const exec = sql.exec.bind(sql);
  const setAlarm = storage.setAlarm.bind(storage);
  Object.defineProperty(sql, "exec", {
    value: (text: string, ...values: SqlStorageValue[]) => {
      for (const count of uncounted.splice(0)) count();
      const cursor = exec(text, ...values);
      const statement = text.replace(/\s+/g, " ").trim().slice(0, STATEMENT_LENGTH);
      uncounted.push(() => add(statement, { read: cursor.rowsRead, written: cursor.rowsWritten }));
      return cursor;
    },
  });
  Object.defineProperty(storage, "setAlarm", {
    value: (time: number | Date, options?: DurableObjectSetAlarmOptions) => {
      add("setAlarm", { read: 0, written: 1 });
      return setAlarm(time, options);
    },
  });
}

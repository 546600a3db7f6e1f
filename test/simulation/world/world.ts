/**
 * The world of one history: machines, their clocks, and all that happens, one event at a time in an order that the seed
 * decides.
 *
 * W1  Nothing waits for real time or real input: an event runs until all of its promises have settled or wait for
 *     another event. So the same seed makes the same history.
 * W2  Code runs on a machine. When a machine crashes, none of the events that its code waits for happens.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Random } from "./random.ts";

/** Where code runs: the isolate of an object or script, an agent, a client. */
export class Machine {
  readonly name: string;
  /** How far its clock is ahead of true time, in ms. */
  clockAheadMs = 0;
  /** Grows with each crash: events of earlier lives do not happen. */
  life = 0;
  /** Timers that its code has set in this life. */
  readonly timers = new Set<SimulatedTimer>();
  /** What others do when it crashes: they have something open with its code. */
  readonly whenCrashed = new Set<() => void>();

  constructor(name: string) {
    this.name = name;
  }
}

export type Scheduled = { isCancelled: boolean };

type HistoryEvent = Scheduled & {
  readonly at: number;
  readonly order: number;
  readonly machine: Machine;
  readonly life: number;
  readonly what: string;
  readonly act: () => void;
};

/** What a timer of the simulated runtime is to its owner. */
export class SimulatedTimer {
  event: Scheduled | undefined;

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.dispose](): void {
    if (this.event) this.event.isCancelled = true;
  }
}

export type TraceLine = { readonly at: number; readonly machine: string; readonly what: string };

/** True time at which every history begins, epoch ms. */
export const START_AT = Date.UTC(2030, 0, 1);
/** More events in a history mean that something goes on for ever. */
const EVENTS_MAX = 200_000;

const settled = (): Promise<void> => new Promise((resolve) => REAL_IMMEDIATE(resolve));
const REAL_IMMEDIATE = setImmediate;

const machines = new AsyncLocalStorage<Machine>();

export class World {
  readonly seed: number;
  readonly random: Random;
  readonly trace: TraceLine[] = [];
  isTraced = false;
  /** Errors that no code has caught, which a program would die of. */
  readonly uncaught: unknown[] = [];
  #now = START_AT;
  readonly #eventsMax: number;
  #order = 0;
  #eventCount = 0;
  #heap: HistoryEvent[] = [];
  #counted: {
    readonly dueAt: number;
    readonly machine: Machine;
    readonly life: number;
    readonly act: () => void;
  }[] = [];

  /** `eventsMax`: more of them are an error. */
  constructor(seed: number, eventsMax = EVENTS_MAX) {
    this.seed = seed;
    this.#eventsMax = eventsMax;
    this.random = new Random(seed);
  }

  /** The machine whose code runs; undefined for that of the simulator itself. */
  static current(): Machine | undefined {
    return machines.getStore();
  }

  /** True time, epoch ms. */
  get now(): number {
    return this.#now;
  }

  /** True time since the begin of the history, ms. */
  get elapsedMs(): number {
    return this.#now - START_AT;
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  note(machine: Machine | string, what: string): void {
    if (!this.isTraced) return;
    this.trace.push({
      at: this.elapsedMs,
      machine: typeof machine === "string" ? machine : machine.name,
      what,
    });
  }

  /** Something that happens on the machine later, unless the machine crashes before. */
  schedule(machine: Machine, delayMs: number, what: string, act: () => void): Scheduled {
    const event: HistoryEvent = {
      at: this.#now + Math.max(0, delayMs),
      order: (this.#order += 1),
      machine,
      life: machine.life,
      what,
      act,
      isCancelled: false,
    };
    this.#push(event);
    return event;
  }

  /** The same once so many more events have happened. */
  afterEvents(machine: Machine, count: number, act: () => void): void {
    this.#counted.push({ dueAt: this.#eventCount + count, machine, life: machine.life, act });
  }

  #startCounted(): void {
    const due = this.#counted.filter(({ dueAt }) => dueAt <= this.#eventCount);
    if (due.length === 0) return;
    this.#counted = this.#counted.filter((one) => !due.includes(one));
    for (const { machine, life, act } of due)
      if (machine.life === life) this.schedule(machine, 0, "goes on", act);
  }

  /** Runs code on the machine now. */
  on<Result>(machine: Machine, act: () => Result): Result {
    return machines.run(machine, act);
  }

  /** All that the machine's code waits for is lost. */
  crash(machine: Machine): void {
    machine.life += 1;
    machine.timers.clear();
    this.note(machine, "crashes");
    const told = [...machine.whenCrashed];
    machine.whenCrashed.clear();
    for (const tell of told) tell();
  }

  /** Lets events happen until true time is `until`, or `isOver`. `afterEach` is called between two events. */
  async run(until: number, isOver: () => boolean, afterEach: () => void): Promise<void> {
    await settled();
    while (!isOver()) {
      const event = this.#heap[0];
      if (!event || event.at > until) {
        this.#now = Math.max(this.#now, until);
        return;
      }
      this.#pop();
      if (event.isCancelled || event.life !== event.machine.life) continue;
      this.#now = Math.max(this.#now, event.at);
      this.#eventCount += 1;
      if (this.#eventCount > this.#eventsMax)
        throw new Error(`More than ${this.#eventsMax} events: last ${event.what}.`);
      machines.run(event.machine, event.act);
      await settled();
      if (this.#counted.length > 0) this.#startCounted();
      afterEach();
    }
  }

  // The heap, by time and then by order

  #push(event: HistoryEvent): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as HistoryEvent;
      if (!isBefore(event, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as HistoryEvent;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as HistoryEvent, heap[child] as HistoryEvent)) {
        child += 1;
      }
      if (!isBefore(heap[child] as HistoryEvent, last)) break;
      heap[at] = heap[child] as HistoryEvent;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(one: HistoryEvent, other: HistoryEvent): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

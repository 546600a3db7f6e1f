/**
 * Durable Objects: one instance of each at a time, calls over a network that fails, memory that is lost.
 *
 * O1  An object that is called and has no memory is constructed first; calls wait while `blockConcurrencyWhile` runs.
 * O2  What an object sends or answers waits for what it wrote before (the output gate of its storage).
 * O3  A crash loses memory and what is not durable, breaks calls and sockets. An eviction loses the memory of an object
 *     for which nothing is under way; its hibernating sockets stay.
 * O4  An alarm fires at its time or later, and again when the object crashes in its handler. When the handler throws, it is
 *     tried again after 2 s, 4 s and so on, six times; then the alarm is gone.
 */
import { place } from "../world/globals.ts";
import { Machine } from "../world/world.ts";
import { transferred } from "./transferred-stream.ts";
import { isInjected, type Network } from "./network.ts";
import type { SimulatedSocket } from "./sockets.ts";
import { ObjectStorage } from "./storage.ts";
import { copyValue } from "./values.ts";

type Instance = Record<string, unknown> & {
  alarm?: () => Promise<void>;
  webSocketMessage?: (socket: SimulatedSocket, message: unknown) => Promise<void>;
  webSocketClose?: (
    socket: SimulatedSocket,
    code: number,
    reason: string,
    wasClean: boolean,
  ) => Promise<void>;
  webSocketError?: (socket: SimulatedSocket, error: unknown) => Promise<void>;
};

export type ObjectClass = new (state: unknown, env: unknown) => Instance;

/** Where an object wakes. */
export type ObjectServer = {
  /** Of the version of the code that it runs next. */
  readonly objectClass: () => ObjectClass;
  readonly env: () => unknown;
  /** Of its clock before true time. */
  readonly clockAheadMs: () => number;
};

type Call = { readonly fail: (error: Error) => void };

const ALARM_RETRY_MS = 2_000;
const ALARM_RETRIES = 6;
const RESET = "The Durable Object was reset.";
const LOST = "Network connection lost.";

export class SimulatedObject {
  readonly name: string;
  readonly machine: Machine;
  readonly storage: ObjectStorage;
  readonly #network: Network;
  readonly #server: ObjectServer;
  #instance: Instance | undefined;
  #ready: Promise<void> = Promise.resolve();
  readonly #calls = new Set<Call>();
  #background = 0;
  #sockets: { readonly socket: SimulatedSocket; readonly tags: readonly string[] }[] = [];
  #alarmFailures = 0;
  #isResetting = false;

  constructor(network: Network, name: string, server: ObjectServer) {
    this.name = name;
    this.machine = new Machine(name);
    this.#network = network;
    this.#server = server;
    this.storage = new ObjectStorage(network.world, this.machine, (at) => this.#alarmSet(at));
    network.gates.set(this.machine, (act) => this.storage.gate(act));
  }

  /** The instance, if the object has memory now. */
  get instance(): Instance | undefined {
    return this.#instance;
  }

  /** Nothing is under way: the platform may take its memory. */
  get isIdle(): boolean {
    return (
      this.#instance !== undefined &&
      this.#calls.size === 0 &&
      this.#background === 0 &&
      this.machine.timers.size === 0
    );
  }

  // Calls from other machines

  /** Calls a method; resolves on the machine that calls. */
  call(method: string, values: readonly unknown[]): Promise<unknown> {
    const caller = place()?.machine;
    const life = caller?.life;
    return this.#network.ask({
      what: `${this.name}.${method}`,
      send: ({ succeed, fail }) =>
        this.#receive(method, copyValue(values) as unknown[], {
          succeed: (value) => succeed(this.#withBody(value, caller, life)),
          fail,
        }),
    });
  }

  /** The body of an answer to a caller, which may have crashed meanwhile. */
  #withBody(value: unknown, caller: Machine | undefined, life: number | undefined): unknown {
    const { body } = (value ?? {}) as { readonly body?: unknown };
    if (!(body instanceof ReadableStream) || value instanceof Response) return value;
    const isReceived = caller !== undefined && caller.life === life;
    if (!isReceived) void body.cancel().catch(() => {});
    const source = isReceived ? body : new ReadableStream({ type: "bytes" });
    return {
      ...(value as object),
      body: transferred({ network: this.#network, source, from: this.machine, to: caller }),
    };
  }

  #receive(method: string, values: unknown[], answer: Answer): void {
    const call: Call = { fail: (error) => answer.fail(error) };
    this.#calls.add(call);
    const run = async (): Promise<void> => {
      try {
        const instance = await this.#wake();
        const act = instance[method] as ((...values: unknown[]) => unknown) | undefined;
        if (typeof act !== "function") throw new TypeError(`The object has no method ${method}.`);
        const result: unknown = await act.apply(instance, values);
        this.#leave(call, () => answer.succeed(copyValue(result)));
      } catch (error) {
        this.#leave(call, () => answer.fail(remoteError(error)));
      }
    };
    this.#network.world.on(this.machine, () => void run());
  }

  /** The answer leaves when all is durable. */
  #leave(call: Call, send: () => void): void {
    this.storage.gate(() => {
      if (this.#calls.delete(call)) send();
    });
  }

  async #wake(): Promise<Instance> {
    if (!this.#instance) {
      this.#network.world.note(this.machine, "wakes");
      this.#ready = Promise.resolve();
      this.machine.clockAheadMs = this.#server.clockAheadMs();
      const Class = this.#server.objectClass();
      this.#instance = new Class(this.#state(), this.#server.env());
    }
    await this.#ready;
    return this.#instance;
  }

  #state(): unknown {
    const { life } = this.machine;
    return {
      id: { name: this.name, toString: () => this.name },
      storage: this.storage,
      waitUntil: (work: Promise<unknown>) => this.#inBackground(work),
      blockConcurrencyWhile: <Result>(work: () => Promise<Result>): Promise<Result> => {
        const result = work();
        this.#ready = result.then(
          () => {},
          (error: unknown) => this.#abortLater(String(error)),
        );
        return result;
      },
      acceptWebSocket: (socket: SimulatedSocket, tags: readonly string[] = []) => this.#accept(socket, tags),
      getWebSockets: (tag?: string) => this.#socketsOf(tag),
      getTags: (socket: SimulatedSocket) => this.#sockets.find((one) => one.socket === socket)?.tags ?? [],
      abort: (reason?: string) => {
        if (this.machine.life === life) this.#abortLater(reason ?? RESET);
      },
    };
  }

  #inBackground(work: Promise<unknown>): void {
    const { life } = this.machine;
    this.#background += 1;
    const over = (): void => {
      if (this.machine.life === life) this.#background -= 1;
    };
    work.then(over, over);
  }

  // Sockets

  #accept(socket: SimulatedSocket, tags: readonly string[]): void {
    this.#sockets.push({ socket, tags });
    socket.handleBy({
      machine: this.machine,
      message: (data) => this.#deliver((instance) => instance.webSocketMessage?.(socket, data)),
      close: (code, reason, wasClean) =>
        this.#deliver((instance) => instance.webSocketClose?.(socket, code, reason, wasClean)),
    });
  }

  #deliver(act: (instance: Instance) => Promise<void> | undefined): void {
    const call: Call = { fail: () => {} };
    this.#calls.add(call);
    const run = async (): Promise<void> => {
      try {
        await act(await this.#wake());
      } catch (error) {
        this.#network.world.uncaught.push(error);
      } finally {
        this.#calls.delete(call);
      }
    };
    void run();
  }

  #socketsOf(tag: string | undefined): SimulatedSocket[] {
    this.#sockets = this.#sockets.filter(({ socket }) => socket.readyState !== 3);
    return this.#sockets.flatMap(({ socket, tags }) =>
      tag === undefined || tags.includes(tag) ? [socket] : [],
    );
  }

  // Alarms

  #alarmSet(at: number): void {
    this.#alarmFailures = 0;
    const { world, carrier } = this.#network;
    const delayMs = at - world.now - this.machine.clockAheadMs + world.random.delay(5);
    world.schedule(carrier, delayMs, `alarm of ${this.name}`, () => this.#fire(at));
  }

  #fire(at: number): void {
    if (this.storage.alarmAt !== at) return;
    this.storage.takeAlarm();
    const { life } = this.machine;
    const call: Call = { fail: () => this.#restoreAlarm(at) };
    this.#calls.add(call);
    const run = async (): Promise<void> => {
      try {
        await (await this.#wake()).alarm?.();
        this.#calls.delete(call);
      } catch (error) {
        if (this.machine.life !== life) return;
        this.#calls.delete(call);
        this.#alarmThrew(at, error);
      }
    };
    this.#network.world.on(this.machine, () => void run());
  }

  #alarmThrew(at: number, error: unknown): void {
    const { world, carrier } = this.#network;
    world.note(this.machine, `alarm fails: ${String(error)}`);
    if (!isInjected(error)) world.uncaught.push(error);
    if (this.storage.alarmAt !== null) return; // the handler has set another one
    if (this.#alarmFailures === ALARM_RETRIES) return;
    this.#restoreAlarm(at);
    const delayMs = ALARM_RETRY_MS * 2 ** this.#alarmFailures;
    this.#alarmFailures += 1;
    world.schedule(carrier, delayMs, "alarm again", () => this.#fire(at));
  }

  #restoreAlarm(at: number): void {
    if (this.storage.alarmAt === null) this.storage.restoreAlarm(at);
  }

  // Loss of memory

  #abortLater(reason: string): void {
    if (this.#isResetting) return;
    this.#isResetting = true;
    this.#network.world.schedule(this.#network.carrier, 0, `reset of ${this.name}`, () => this.crash(reason));
  }

  /** Loses memory and what is not durable; calls fail, sockets break. */
  crash(reason = LOST): void {
    if (!this.#instance) return;
    this.#forget();
    const calls = [...this.#calls];
    this.#calls.clear();
    const { alarmAt } = this.storage;
    this.storage.crash();
    const sockets = this.#sockets;
    this.#sockets = [];
    for (const { socket } of sockets) socket.breakFrom();
    for (const { fail } of calls) fail(new Error(reason));
    // An alarm that the crash restored is found again.
    const restoredAt = this.storage.alarmAt;
    if (restoredAt !== null && restoredAt !== alarmAt) this.#alarmSet(restoredAt);
  }

  /** Loses its memory while nothing is under way. */
  evict(): void {
    if (!this.isIdle) return;
    this.#network.world.note(this.machine, "is evicted");
    this.storage.settle();
    this.#forget();
    for (const { socket } of this.#sockets) socket.surviveEviction();
  }

  #forget(): void {
    this.#network.world.crash(this.machine);
    this.#instance = undefined;
    this.#background = 0;
    this.#isResetting = false;
  }
}

export type Answer = { readonly succeed: (value: unknown) => void; readonly fail: (error: Error) => void };

/** What reaches a caller of an error of another isolate: name and message. */
function remoteError(error: unknown): Error {
  const copy = new Error(error instanceof Error ? error.message : String(error));
  if (error instanceof Error) copy.name = error.name;
  return Object.assign(copy, { remote: true });
}

/** `env.NAME` of a class of objects. */
export class SimulatedNamespace {
  readonly objects = new Map<string, SimulatedObject>();
  readonly #make: (name: string) => SimulatedObject;

  constructor(make: (name: string) => SimulatedObject) {
    this.#make = make;
  }

  getByName(name: string): unknown {
    return stubOf(this.object(name));
  }

  idFromName(name: string): { readonly name: string } {
    return { name };
  }

  get({ name }: { readonly name: string }): unknown {
    return this.getByName(name);
  }

  object(name: string): SimulatedObject {
    const known = this.objects.get(name);
    if (known) return known;
    const made = this.#make(name);
    this.objects.set(name, made);
    return made;
  }
}

function stubOf(object: SimulatedObject): unknown {
  return new Proxy(
    {},
    {
      get(_, property) {
        if (typeof property !== "string" || property === "then") return undefined;
        if (property === "fetch") {
          return (input: string | Request, init?: RequestInit) =>
            object.call("fetch", [input instanceof Request ? input : new Request(input, init)]);
        }
        return (...values: unknown[]) => object.call(property, values);
      },
    },
  );
}

/**
 * Durable Objects: one instance of each at a time, calls over a network that fails, memory that is lost.
 *
 * O1  An object that is called and has no memory is constructed first; calls wait while `blockConcurrencyWhile` runs.
 * O2  What an object sends or answers waits for what it wrote before (the output gate of its storage).
 * O3  A crash loses memory and what is not durable, breaks calls and sockets, and for good the stubs that were used before.
 *     An eviction loses the memory of an object for which nothing is under way; its hibernating sockets stay.
 * O4  Of an object that is about to be reset nothing is seen any more.
 */
import { place } from "../world/globals.ts";
import { Machine } from "../world/world.ts";
import { transferred } from "./transferred-stream.ts";
import { type AlarmInfo, type AlarmOutcome, ObjectAlarm } from "./alarms.ts";
import type { Network } from "./network.ts";
import { lostConnection, remoteError, resetBy } from "./resets.ts";
import type { SimulatedSocket } from "./sockets.ts";
import { ObjectStorage } from "./storage.ts";
import type { StubUse } from "./stubs.ts";
import { copyValue } from "./values.ts";

type Instance = Record<string, unknown> & {
  alarm?: (info: AlarmInfo) => Promise<void>;
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
  /** By which its namespace finds it. */
  readonly idName: string;
  /** Of the version of the code that it runs next. */
  readonly objectClass: () => ObjectClass;
  readonly env: () => unknown;
  /** Of its clock before true time. */
  readonly clockAheadMs: () => number;
};

type Call = { readonly fail: (error: Error) => void };

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
  readonly #alarm: ObjectAlarm;
  #isResetting = false;
  #crashes = 0;
  #lastError = lostConnection();

  constructor(network: Network, name: string, server: ObjectServer) {
    this.name = name;
    this.machine = new Machine(name);
    this.#network = network;
    this.#server = server;
    this.storage = new ObjectStorage(network.world, this.machine, (at) => this.#alarm.set(at));
    this.#alarm = new ObjectAlarm({
      network,
      machine: this.machine,
      storage: this.storage,
      handle: (info, outcome) => this.#handleAlarm(info, outcome),
    });
    network.gates.set(this.machine, (act) => this.#gate(act));
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
  call(method: string, values: readonly unknown[], stub: StubUse = { crashes: undefined }): Promise<unknown> {
    const caller = place()?.machine;
    const life = caller?.life;
    return this.#network.ask({
      what: `${this.name}.${method}`,
      send: ({ succeed, fail }) => {
        stub.crashes ??= this.#crashes;
        if (stub.crashes !== this.#crashes) return fail(this.#lastError);
        this.#receive(method, copyValue(values) as unknown[], {
          succeed: (value) => succeed(this.#withBody(value, caller, life)),
          fail,
        });
      },
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
    this.#gate(() => {
      if (this.#calls.delete(call)) send();
    });
  }

  #gate(act: () => void): void {
    if (!this.#isResetting) this.storage.gate(act);
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
      id: { name: this.#server.idName, toString: () => this.name },
      storage: this.storage,
      waitUntil: (work: Promise<unknown>) => this.#inBackground(work),
      blockConcurrencyWhile: <Result>(work: () => Promise<Result>): Promise<Result> => {
        const { promise, resolve } = Promise.withResolvers<Result>();
        work().then(resolve, (error: unknown) => this.#reset(resetBy(error)));
        this.#ready = promise.then(() => {});
        return promise;
      },
      acceptWebSocket: (socket: SimulatedSocket, tags: readonly string[] = []) => this.#accept(socket, tags),
      getWebSockets: (tag?: string) => this.#socketsOf(tag),
      getTags: (socket: SimulatedSocket) => this.#sockets.find((one) => one.socket === socket)?.tags ?? [],
      abort: (reason?: string) => {
        if (this.machine.life === life) this.#reset(resetBy(reason));
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
        this.#deliver((instance) => {
          socket.takeClose();
          return instance.webSocketClose?.(socket, code, reason, wasClean);
        }),
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
    this.#sockets = this.#sockets.filter(({ socket }) => !socket.isOver);
    return this.#sockets.flatMap(({ socket, tags }) =>
      tag === undefined || tags.includes(tag) ? [socket] : [],
    );
  }

  #handleAlarm(info: AlarmInfo, { ended, threw, lost }: AlarmOutcome): void {
    const { life } = this.machine;
    const call: Call = { fail: lost };
    this.#calls.add(call);
    const over = (tell: () => void): void => {
      if (this.machine.life === life && !this.#isResetting && this.#calls.delete(call)) tell();
    };
    const run = async (): Promise<void> => {
      try {
        await (await this.#wake()).alarm?.(info);
        over(ended);
      } catch (error) {
        over(() => threw(error));
      }
    };
    this.#network.world.on(this.machine, () => void run());
  }

  // Loss of memory

  #reset(error: Error): void {
    if (this.#isResetting) return;
    this.#isResetting = true;
    this.#network.world.schedule(this.#network.carrier, 0, `reset of ${this.name}`, () => this.crash(error));
  }

  /** Loses memory and what is not durable; calls fail, sockets break. */
  crash(error = lostConnection()): void {
    if (!this.#instance) return;
    this.#forget();
    this.#crashes += 1;
    this.#lastError = error;
    const calls = [...this.#calls];
    this.#calls.clear();
    const { alarmAt } = this.storage;
    this.storage.crash();
    const sockets = this.#sockets;
    this.#sockets = [];
    // An alarm that the crash restored is found again.
    const restoredAt = this.storage.alarmAt;
    if (restoredAt !== null && restoredAt !== alarmAt) this.#alarm.set(restoredAt);
    for (const { socket } of sockets) socket.breakFrom();
    for (const { fail } of calls) fail(error);
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

/** What lies between machines: calls take time, and may be lost on their way there or back. */
import { place } from "../world/globals.ts";
import { Machine, type World } from "../world/world.ts";
import { CONNECTION_LOST, injectedMessage } from "./injected.ts";
import type { Answer } from "./objects.ts";
import { Outages } from "./outages.ts";
import { type SimulatedSocket, socketPair } from "./sockets.ts";

/** How often what fails; from 0 to 1. */
export type NetworkFaults = {
  /** A call gets lost before it arrives: its caller gets an error. */
  readonly callsLost: number;
  /** The answer of a call gets lost: it has taken effect, and its caller gets an error. */
  readonly answersLost: number;
  /** Typical delay of a message between two places, ms. */
  readonly delayMs: number;
  /** A message takes a hundred times as long. */
  readonly slowNetwork: number;
  /** A request over HTTP arrives twice. */
  readonly requestsRepeated: number;
  /** The body of an answer over HTTP ends early. */
  readonly bodiesTorn: number;
  /** Something else than the edge answers a call of an agent, as while the edge is deployed. */
  readonly strayAnswers: number;
  /** A call of D1 or R2 fails, before or after it has taken effect. */
  readonly d1Fails: number;
  readonly r2Fails: number;
};

export type NetworkFault = Exclude<keyof NetworkFaults, "delayMs">;

export const NO_FAULTS: NetworkFaults = {
  callsLost: 0,
  answersLost: 0,
  delayMs: 2,
  slowNetwork: 0,
  requestsRepeated: 0,
  bodiesTorn: 0,
  strayAnswers: 0,
  d1Fails: 0,
  r2Fails: 0,
};

export type Asking = {
  readonly what: string;
  /** Whether it cannot use a connection that is open. */
  readonly opensConnection?: boolean;
  /** Runs where the call arrives. */
  readonly send: (answer: Answer) => void;
};

type Server = (request: Request) => Promise<unknown>;

/** Nobody is there for the WebSocket that an answer opens, if it does. */
export function breakSocket(answer: unknown): void {
  const { webSocket } = (answer ?? {}) as { readonly webSocket?: SimulatedSocket | null };
  webSocket?.breakFrom();
}

export class Network {
  readonly world: World;
  readonly carrier = new Machine("network");
  /** Machines that hold back what they send. */
  readonly gates = new Map<Machine, (act: () => void) => void>();
  faults: NetworkFaults = NO_FAULTS;
  /** How often each kind has happened. */
  readonly struck = new Map<NetworkFault, number>();
  /** When each kind has happened last, true time in ms of the history. */
  readonly struckAt = new Map<NetworkFault, number>();
  readonly outages: Outages;

  readonly #servers = new Map<string, Server>();

  constructor(world: World) {
    this.world = world;
    this.outages = new Outages(world, this.carrier);
  }

  /** Requests to the host are answered by `server`, which asks over this network itself. */
  serve(host: string, server: Server): void {
    this.#servers.set(host, server);
  }

  /** `fetch` of the code on a machine. */
  async fetch(request: Request): Promise<Response> {
    const server = this.#servers.get(new URL(request.url).hostname);
    if (!server) throw new TypeError("fetch failed: no such host");
    const { signal } = request;
    signal.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const answer = server(request) as Promise<Response>;
    answer.then((response) => signal.aborted && breakSocket(response)).catch(() => {}); // told below
    try {
      return await Promise.race([answer, aborted.promise]);
    } catch (error) {
      throw signal.aborted ? error : new TypeError("fetch failed", { cause: error });
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  gate(machine: Machine, act: () => void): void {
    const gate = this.gates.get(machine);
    if (gate) gate(act);
    else act();
  }

  delay(): number {
    const ms = this.world.random.delay(this.faults.delayMs);
    return this.strikes("slowNetwork") ? 100 * ms : ms;
  }

  /** Whether the kind happens now, by its rate. */
  strikes(kind: NetworkFault): boolean {
    if (!this.world.random.chance(this.faults[kind])) return false;
    this.struck.set(kind, (this.struck.get(kind) ?? 0) + 1);
    this.struckAt.set(kind, this.world.elapsedMs);
    return true;
  }

  /** An operation of D1 or R2: its error may come instead of it, or after it. */
  perform(rate: "d1Fails" | "r2Fails", { succeed, fail }: Answer, act: () => unknown): void {
    const { random } = this.world;
    if (!this.strikes(rate)) return succeed(act());
    const error = new Error(
      rate === "d1Fails" ? `D1_ERROR: ${CONNECTION_LOST}` : injectedMessage("put: Unspecified error (0)"),
    );
    if (random.chance(0.5)) return fail(error);
    act();
    fail(error);
  }

  /** A call from the machine whose code runs; the promise settles there, and never if that machine crashes before. */
  ask({ what, opensConnection = false, send }: Asking): Promise<unknown> {
    const { machine } = place() as { machine: Machine };
    const { life } = machine;
    const { world, carrier, outages } = this;
    return new Promise((resolve, reject) => {
      let isOver = false;
      const arrive = (delayMs: number, why: string, act: () => void, value?: unknown): void => {
        if (isOver) return;
        isOver = true;
        world.schedule(carrier, delayMs, why, () => {
          if (machine.life === life) world.on(machine, act);
          else breakSocket(value);
        });
      };
      const lose = (): void =>
        arrive(this.delay(), `${what} is lost`, () => reject(new Error(CONNECTION_LOST)));
      const comeBack = (why: string, act: () => void, value?: unknown): void => {
        const come = (): void => arrive(this.delay(), `${why} of ${what}`, act, value);
        if (!outages.holds(undefined, machine, come)) come();
      };
      const go = (): void =>
        void world.schedule(carrier, this.delay(), what, () => {
          world.note(machine, `calls ${what}`);
          send({
            succeed: (value) => {
              if (this.strikes("answersLost")) {
                breakSocket(value);
                return lose();
              }
              comeBack("answer", () => resolve(value), value);
            },
            fail: (error) => comeBack("error", () => reject(error)),
          });
        });
      this.gate(machine, () => {
        if (this.strikes("callsLost")) return lose();
        outages.call(machine, opensConnection, go, lose);
      });
    });
  }

  socketPair(): { 0: SimulatedSocket; 1: SimulatedSocket } {
    return socketPair({
      world: this.world,
      carrier: this.carrier,
      gate: (machine, act) => this.gate(machine, act),
      delayMs: () => this.delay(),
      holds: (from, to, act) => this.outages.holds(from, to, act),
      isCut: (from, to) => this.outages.isCut(from, to),
    });
  }
}

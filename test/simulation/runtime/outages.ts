/**
 * Hosts whose packets get lost, as bench/faults has seen it: nobody is told. What a connection has taken arrives when the
 * network works again and its sender tries once more, in its order and even if its caller has given up meanwhile; a
 * connection that is not open yet gives up after a while.
 */
import type { Machine, World } from "../world/world.ts";

/** Which packets of a host get lost. */
export type Cut = "both" | "toHost" | "fromHost";
export const CUTS: readonly Cut[] = ["both", "both", "toHost", "fromHost"];

type Held = { readonly since: number; readonly act: () => void };
type Outage = { readonly cut: Cut; readonly held: Held[] };

/** Of the HTTP client of Node. */
const CONNECT_LIMIT_MS = 10_000;
/** A sender waits for twice as long as before, at most so long. */
const RETRY_MAX_MS = 120_000;
/** How often there is an open connection for a call, and how often its other end has closed it meanwhile. */
const IS_OPEN = 0.5;
const IS_CLOSED_MEANWHILE = 0.25;

export class Outages {
  readonly #world: World;
  /** What carries messages. */
  readonly #carrier: Machine;
  readonly #all = new Map<Machine, Outage>();
  readonly #lateUntil = new Map<Machine, number>();

  constructor(world: World, carrier: Machine) {
    this.#world = world;
    this.#carrier = carrier;
  }

  begin(machine: Machine, cut: Cut): void {
    if (!this.#all.has(machine)) this.#all.set(machine, { cut, held: [] });
  }

  end(machine: Machine): void {
    const outage = this.#all.get(machine);
    this.#all.delete(machine);
    const { now, random } = this.#world;
    for (const { since, act } of outage?.held ?? []) {
      const retryMs = random.whole(0, Math.min(now - since, RETRY_MAX_MS));
      this.#lateUntil.set(machine, Math.max(now + retryMs, this.#lateUntil.get(machine) ?? 0));
      this.#world.schedule(this.#carrier, retryMs, "sent once more", act);
    }
  }

  endAll(): void {
    for (const machine of this.#all.keys()) this.end(machine);
  }

  has(machine: Machine): boolean {
    return this.#all.has(machine);
  }

  /** Whether something of an outage still is to be sent once more. */
  isLate(machine: Machine): boolean {
    return this.#world.now <= (this.#lateUntil.get(machine) ?? Number.NEGATIVE_INFINITY);
  }

  isCut(from: Machine | undefined, to: Machine | undefined): boolean {
    return this.#between(from, to) !== undefined;
  }

  /** Whether what is sent now does not arrive: then `act` runs when it is sent once more. */
  holds(from: Machine | undefined, to: Machine | undefined, act: () => void): boolean {
    const outage = this.#between(from, to);
    outage?.held.push({ since: this.#world.now, act });
    return outage !== undefined;
  }

  /** A call of a machine: `go` runs when it arrives, `fail` when its caller sees that it will not. */
  call(machine: Machine, opensConnection: boolean, go: () => void, fail: () => void): void {
    const outage = this.#all.get(machine);
    if (!outage) return go();
    const { random } = this.#world;
    if (opensConnection || !random.chance(IS_OPEN)) return this.#connect(machine, outage, go, fail);
    const isClosed = outage.cut !== "toHost" && random.chance(IS_CLOSED_MEANWHILE);
    const arrive = isClosed ? fail : go;
    if (!this.holds(machine, undefined, arrive)) arrive();
  }

  /** The program that waits for the connection may end meanwhile. */
  #connect(machine: Machine, outage: Outage, go: () => void, fail: () => void): void {
    const { life } = machine;
    let isOver = false;
    const once = (act: () => void) => (): void => {
      if (isOver) return;
      isOver = true;
      if (machine.life === life) act();
    };
    this.#world.schedule(this.#carrier, CONNECT_LIMIT_MS, "no connection", once(fail));
    outage.held.push({ since: this.#world.now, act: once(go) });
  }

  #between(from: Machine | undefined, to: Machine | undefined): Outage | undefined {
    const leaving = from && this.#all.get(from);
    if (leaving && leaving.cut !== "toHost") return leaving;
    const coming = to && this.#all.get(to);
    return coming && coming.cut !== "fromHost" ? coming : undefined;
  }
}

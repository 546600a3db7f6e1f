/** For how long nothing has kept a host from doing its work. */
import type { SimulatedHost } from "../host/host.ts";
import type { Network } from "../runtime/network.ts";
import type { World } from "../world/world.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

/** With these it takes long until a host and the edge have heard of each other. */
const HIDE_CALLS: readonly Fault[] = [
  "callsLost",
  "answersLost",
  "slowNetwork",
  "bodiesTorn",
  "d1Fails",
  "strayAnswers",
];

/** Time for a host that was not heard to call again: its agent may rest for so long. */
const RETURN_MS = 20_000;

type Seen = { life: number; hasWorked: boolean; isCut: boolean; hostSince: number; callsSince: number };

export class Calm {
  readonly #world: World;
  readonly #network: Network;
  readonly #hosts: readonly SimulatedHost[];
  readonly #seen = new Map<SimulatedHost, Seen>();
  #isCallHeard: boolean;

  constructor(world: World, network: Network, hosts: readonly SimulatedHost[], plan: HistoryPlan) {
    this.#world = world;
    this.#network = network;
    this.#hosts = hosts;
    this.#isCallHeard = !HIDE_CALLS.some((fault) => plan.faults.has(fault));
  }

  /** There are no more faults. */
  healed(): void {
    this.#isCallHeard = true;
    for (const seen of this.#seen.values()) seen.callsSince = this.#world.elapsedMs + RETURN_MS;
  }

  checkStep(): void {
    const { elapsedMs } = this.#world;
    for (const host of this.#hosts) {
      const { life } = host.machine;
      const seen = this.#seen.get(host) ?? {
        life,
        hasWorked: true,
        isCut: false,
        hostSince: elapsedMs,
        callsSince: elapsedMs,
      };
      this.#seen.set(host, seen);
      const works =
        host.isUp &&
        !host.isRemoved &&
        !host.containers.isBroken &&
        host.containers.hanging.length === 0 &&
        !host.isDiskFull &&
        seen.life === life;
      const { outages } = this.#network;
      const isCut = outages.has(host.machine) || outages.isLate(host.machine);
      // Between two steps it was as it had been at the first of them.
      if (!works || !seen.hasWorked) seen.hostSince = seen.callsSince = elapsedMs;
      if (isCut || seen.isCut) seen.callsSince = elapsedMs;
      Object.assign(seen, { life, isCut, hasWorked: works });
    }
  }

  /** For how long its agent, its daemon and its disk have worked, ms. */
  ofHost(host: SimulatedHost): number {
    return this.#world.elapsedMs - (this.#seen.get(host)?.hostSince ?? this.#world.elapsedMs);
  }

  /** For how long the edge and the agent have heard of each other as well, ms. */
  ofCalls(host: SimulatedHost): number {
    if (!this.#isCallHeard) return 0;
    return this.#world.elapsedMs - (this.#seen.get(host)?.callsSince ?? this.#world.elapsedMs);
  }
}

/** The faults of a history, from its begin until it is healed. */
import type { SimulatedEdge } from "../runtime/edge.ts";
import { type Network, NO_FAULTS } from "../runtime/network.ts";
import { CUTS } from "../runtime/outages.ts";
import type { SimulatedHost } from "../host/host.ts";
import type { RuntimeFaults } from "../host/runtime.ts";
import type { WorkerFaults } from "../host/worker.ts";
import { Machine, type World } from "../world/world.ts";
import { endpointRequirements, hasPlace } from "./capacity.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

/** How long after an operation has begun what happens with it does so at most, typically. */
const DUE_MS = 1_000;
const AGENT_AWAY_MS: readonly number[] = [300, 5_000];
/** Share of the faults that follow something, and how soon, typically. */
const FOLLOWING = 0.5;
const SHORTLY_MS = 10;
const PARTITION_MS = 20_000;
/** Briefly, as when a daemon starts again, or for long. */
const BROKEN_MS: readonly number[] = [500, 5_000];
const JUMP_MAX_MS = 3_600_000;
const DISK_FULL_MS = 10_000;
/** For how long a killed container stays, and how much longer a pull takes. */
const HANGS_MS: readonly number[] = [1_000, 20_000];
const PULL_MS: readonly number[] = [2_000, 30_000];
const PULLS_FAIL_MS: readonly number[] = [5_000, 60_000];
/** Pulls of a host that fail at all fail once, or for good: also when there are no more faults. */
const PULLS_FAIL_ONCE = 0.3;
const PULLS_FAIL_FOR_GOOD = 0.6;

export type FaultsParts = {
  readonly world: World;
  readonly network: Network;
  readonly edge: SimulatedEdge;
  readonly hosts: readonly SimulatedHost[];
  readonly plan: HistoryPlan;
};

type Planned = { readonly fault: Fault; readonly act: () => void };

export class Faults {
  readonly #parts: FaultsParts;
  readonly #machine = new Machine("faults");
  readonly #counts = new Map<Fault, number>();
  readonly #struckAt = new Map<Fault, number>();
  #isHealed = false;
  /** Faults that follow the next thing that happens. */
  readonly #waiting: Planned[] = [];
  /** What happens with which operation of the clients, counted from 0. */
  readonly #due = new Map<number, readonly Planned[]>();
  #progress = 0;
  /** Where it happened. */
  #near: SimulatedHost | undefined;

  constructor(parts: FaultsParts) {
    this.#parts = parts;
  }

  /** How often each kind has happened; a clock that differs does so once. */
  get counts(): ReadonlyMap<Fault, number> {
    const isSkewed = this.#isPlanned("clockSkew");
    return new Map([
      ...this.#counts,
      ...this.#parts.network.struck,
      ...(isSkewed ? [["clockSkew", 1] as const] : []),
    ]);
  }

  /** Kinds that have happened within the last so many ms; clocks that differ do so all the time. */
  recent(withinMs: number): readonly Fault[] {
    const { network, world } = this.#parts;
    const struckAt = [...this.#struckAt, ...network.struckAt];
    const recent = struckAt.filter(([, at]) => at >= world.elapsedMs - withinMs).map(([fault]) => fault);
    return this.#isPlanned("clockSkew") ? [...recent, "clockSkew"] : recent;
  }

  /** Whether the kind happens now, by its rate. */
  strikes(fault: Fault): boolean {
    const rate = this.#isHealed ? 0 : (this.#parts.plan.faults.get(fault) ?? 0);
    if (rate === 0 || !this.#parts.world.random.chance(rate)) return false;
    this.#count(fault);
    return true;
  }

  workerFaults(): WorkerFaults {
    const rate = (fault: Fault): number => (this.strikes(fault) ? 1 : 0);
    return {
      handlerMs: this.#parts.plan.handlerMs,
      streaming: this.#parts.plan.streaming,
      large: this.#parts.plan.large,
      fails: rate("workerFails"),
      dies: rate("workerDies"),
      hangs: rate("workerHangs"),
      repeats: rate("workerRepeats"),
      forgets: rate("workerForgets"),
      stalls: rate("workerStalls"),
      floods: this.#parts.plan.flooding,
    };
  }

  readonly ofRuntimes: RuntimeFaults = {
    ignoresStop: () => this.strikes("stopsIgnored"),
    killHangsMs: () => (this.strikes("killsHang") ? this.#delayOf(HANGS_MS) : 0),
    pullDelayMs: () => (this.strikes("pullsSlow") ? this.#delayOf(PULL_MS) : 0),
    pullFailed: () => this.#count("pullsFail"),
  };

  #delayOf(typicalMs: readonly number[]): number {
    const { random } = this.#parts.world;
    return random.delay(random.pick(typicalMs));
  }

  start(): void {
    const { network, plan } = this.#parts;
    const rate = (fault: Fault): number => plan.faults.get(fault) ?? 0;
    network.faults = {
      ...NO_FAULTS,
      callsLost: rate("callsLost"),
      answersLost: rate("answersLost"),
      slowNetwork: rate("slowNetwork"),
      requestsRepeated: rate("requestsRepeated"),
      bodiesTorn: rate("bodiesTorn"),
      strayAnswers: rate("strayAnswers"),
      d1Fails: rate("d1Fails"),
      r2Fails: rate("r2Fails"),
    };
    this.#parts.edge.clockSkewMs = rate("clockSkew");
    for (const [fault, times] of plan.faults) {
      const act = this.#acts[fault];
      if (act) for (let count = 0; count < times; count += 1) this.#place(fault, act);
    }
    this.progressed();
  }

  /** It is to happen with some operation of the clients: so it does happen, however short the history is. */
  #place(fault: Fault, act: () => void): void {
    const { plan, world } = this.#parts;
    const after = world.random.whole(0, plan.clientCount * plan.operationCount - 1);
    this.#due.set(after, [...(this.#due.get(after) ?? []), { fault, act }]);
  }

  /** A client begins its next operation. */
  progressed(): void {
    const { plan, world } = this.#parts;
    const due = this.#due.get(this.#progress) ?? [];
    this.#progress += 1;
    for (const { fault, act } of due)
      this.#later(world.random.delay(Math.min(plan.paceMs, DUE_MS)), fault, () => {
        if (world.random.chance(FOLLOWING)) this.#waiting.push({ fault, act });
        else this.#strike(fault, act);
      });
  }

  /** No more faults: everything that was broken is whole again. */
  heal(): void {
    const { network, hosts, world } = this.#parts;
    this.#isHealed = true;
    this.#waiting.length = 0;
    world.crash(this.#machine);
    world.note(this.#machine, "no more faults");
    network.faults = NO_FAULTS;
    network.outages.endAll();
    for (const host of hosts) {
      host.containers.isBroken = false;
      host.containers.endHanging();
      host.images.healPulls();
      host.isDiskFull = false;
      host.machine.clockAheadMs = 0;
      if (!host.isUp) host.start();
    }
  }

  readonly #acts: Partial<Record<Fault, () => void>> = {
    agentKilled: () => this.#killAgent(),
    agentPartitioned: () => this.#partition(),
    clockJumps: () => this.#jumpClock(),
    containerDies: () => this.#killContainer(),
    daemonBroken: () => this.#breakDaemon(),
    diskFull: () => this.#fillDisk(),
    powerLost: () => this.#losePower(),
    pullsFail: () => this.#failPulls(),
    objectCrashes: () => this.#object()?.crash(),
    objectEvicted: () => this.#object()?.evict(),
    redeployment: () => this.#parts.edge.redeploy(),
    scriptCrashes: () => this.#parts.edge.crashScript(),
  };

  #isPlanned(fault: Fault): boolean {
    return (this.#parts.plan.faults.get(fault) ?? 0) > 0;
  }

  #strike(fault: Fault, act: () => void): void {
    if (fault !== "pullsFail") this.#count(fault);
    act();
  }

  /** Something happens, on a host or at the edge, so that something is underway which a fault may harm. */
  noticed(host?: SimulatedHost): void {
    const next = this.#waiting.shift();
    if (!next) return;
    this.#later(this.#parts.world.random.delay(SHORTLY_MS), next.fault, () => {
      this.#near = host;
      this.#strike(next.fault, next.act);
      this.#near = undefined;
    });
  }

  #later(delayMs: number, what: string, act: () => void): void {
    this.#parts.world.schedule(this.#machine, delayMs, what, act);
  }

  #count(fault: Fault): void {
    this.#counts.set(fault, (this.#counts.get(fault) ?? 0) + 1);
    this.#struckAt.set(fault, this.#parts.world.elapsedMs);
  }

  #host(): SimulatedHost {
    return this.#near ?? this.#parts.world.random.pick(this.#parts.hosts);
  }

  #object() {
    const awake = this.#parts.edge.objects.filter(({ instance }) => instance !== undefined);
    return awake.length === 0 ? undefined : this.#parts.world.random.pick(awake);
  }

  #awayMs(): number {
    return this.#delayOf(AGENT_AWAY_MS);
  }

  #killAgent(): void {
    const host = this.#host();
    host.kill();
    this.#later(this.#awayMs(), "agent starts", () => {
      if (host.isUp) return;
      if (this.strikes("portTaken")) host.losePort();
      host.start();
      if (this.#isPlanned("daemonBroken")) this.#breakDaemon(host);
    });
  }

  #losePower(): void {
    const host = this.#host();
    host.losePower(this.#parts.plan.faults.get("diskLies") ?? 0);
    if (this.#isPlanned("diskLies")) this.#count("diskLies");
    this.#later(this.#awayMs(), "host boots", () => {
      if (!host.isUp) host.start();
    });
  }

  #fillDisk(): void {
    const host = this.#host();
    host.isDiskFull = true;
    this.#later(
      this.#parts.world.random.delay(DISK_FULL_MS),
      "disk has room",
      () => (host.isDiskFull = false),
    );
  }

  /** Those of images that are needed next: once, for a while, or for good on that host. */
  #failPulls(): void {
    const { random } = this.#parts.world;
    const host = this.#host();
    const { images } = host;
    if (random.chance(PULLS_FAIL_ONCE)) return images.failPulls(1);
    if (random.chance(PULLS_FAIL_FOR_GOOD) && this.#isReplaceable(host)) return images.lose();
    images.failPulls(Infinity);
    this.#later(this.#delayOf(PULLS_FAIL_MS), "pulls work", () => images.healPulls());
  }

  /** Each worker has a place on another host of its account that can pull its image; pods stay on theirs. */
  #isReplaceable(host: SimulatedHost): boolean {
    const { hosts, plan } = this.#parts;
    // A worker is tried on another host soon, but on a third one only after ten minutes.
    if (hosts.some(({ images }) => images.isLost)) return false;
    const others = hosts.filter((other) => other !== host);
    const isAlone = !plan.hasPods && !plan.hasSecondAccount && others.length > 0;
    return (
      isAlone &&
      endpointRequirements(plan).every((requirement) =>
        others.some((other) => hasPlace(other, requirement, [])),
      )
    );
  }

  #partition(): void {
    const { network, world } = this.#parts;
    const host = this.#host();
    const { machine } = host;
    const cut = world.random.pick(CUTS);
    network.outages.begin(machine, cut);
    world.note(machine, `is cut off: ${cut}`);
    this.#later(world.random.delay(PARTITION_MS), "partition ends", () => {
      network.outages.end(machine);
      world.note(machine, "is reachable again");
      // It may hear that its workers were given up, and be unable to remove them.
      if (this.#isPlanned("daemonBroken")) this.#breakDaemon(host);
    });
  }

  #jumpClock(): void {
    const { random } = this.#parts.world;
    this.#host().machine.clockAheadMs = random.whole(-JUMP_MAX_MS, JUMP_MAX_MS);
  }

  #killContainer(): void {
    const { containers } = this.#host();
    const running = [...containers.all.values()].filter(({ isRunning }) => isRunning);
    if (running.length > 0) containers.exit(this.#parts.world.random.pick(running), 137);
  }

  /** Soon: also an agent that has just started is to have some answers before. */
  #breakDaemon({ containers } = this.#host()): void {
    const { random } = this.#parts.world;
    this.#later(random.delay(100), "daemon breaks", () => {
      containers.isBroken = true;
      this.#later(
        random.delay(random.pick(BROKEN_MS)),
        "daemon answers",
        () => (containers.isBroken = false),
      );
    });
  }
}

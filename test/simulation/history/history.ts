/** One history: everything that happens under one seed, and what was wrong with it. */
import { SimulatedHost } from "../host/host.ts";
import { closeContainerServers } from "../host/container-servers.ts";
import { closeAllServers } from "../host/modules/http.ts";
import { removeAllDatabases } from "../host/modules/sqlite.ts";
import { EDGE_URL, ROOT_KEY, SimulatedEdge } from "../runtime/edge.ts";
import { emptyCaches } from "../runtime/isolate-caches.ts";
import { Network } from "../runtime/network.ts";
import { enterWorld } from "../world/globals.ts";
import { type TraceLine, World } from "../world/world.ts";
import { Account, type JoinedHost, openAccount, smallPlan } from "./account.ts";
import { Aging } from "./aging.ts";
import { SimulatedClient } from "./client.ts";
import { Commands } from "./commands.ts";
import { Faults } from "./disturbances.ts";
import { HookReceiver } from "./hooks.ts";
import { type Changes, Invariants } from "./invariants.ts";
import { LastReading } from "./last-reading.ts";
import { type HistoryPlan, planHistory } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";
import { Settling } from "./settling.ts";
import { Upgrade, type Version, withUpgrade } from "./upgrade.ts";
import { Users } from "./users.ts";

export type ProductionCode = Version & {
  /** With which a history begins. */
  readonly before?: Version | undefined;
};

export type HistoryOutcome = {
  readonly seed: number;
  readonly plan: HistoryPlan;
  readonly violations: readonly string[];
  readonly eventCount: number;
  readonly simulatedMs: number;
  readonly faults: ReadonlyMap<Fault, number>;
  readonly jobCount: number;
  readonly changes: Changes;
  readonly trace: readonly TraceLine[];
};

/** Faults happen for at most so long, even if clients are not done. */
const DISTURBED_MAX_MS = 120_000;
/** Within this time after the last fault, all jobs that can end have ended. */
export const HEALING_MS = 15 * 60_000;

/** Within this time after that, nothing is left of what is no longer wanted. */
const AFTERMATH_MS = 20_000;
/** With what passes before, most of what was printed has to be stored by then. */
const LOGS_MS = 45_000;
/** A change of a job counts beside the faults that have happened within this time before it. */
const RECENT_MS = 10_000;
/** Time between two looks whether all has ended. */
const LOOK_MS = 500;

let current: Network | undefined;
let running: History | undefined;

/** What production code logs as an error. */
export function logged(line: unknown): void {
  running?.logged(String(line));
}

/** The network of the history that runs. */
export function currentNetwork(): Network {
  if (!current) throw new Error("No history runs.");
  return current;
}

export type HistoryOptions = {
  readonly isTraced?: boolean;
  /** Instead of the one that the seed makes. */
  readonly plan?: HistoryPlan;
};

export async function runHistory(
  seed: number,
  code: ProductionCode,
  { isTraced = false, plan }: HistoryOptions = {},
): Promise<HistoryOutcome> {
  const world = new World(seed);
  world.isTraced = isTraced;
  enterWorld(world);
  emptyCaches();
  closeAllServers();
  closeContainerServers();
  removeAllDatabases();
  const history = (running = new History(world, code, plan));
  try {
    await history.run();
  } catch (error) {
    history.failed(error); // it goes on without end
  } finally {
    enterWorld(undefined);
  }
  return history.outcome();
}

class History {
  readonly #world: World;
  readonly #code: ProductionCode;
  readonly #network: Network;
  readonly #edge: SimulatedEdge;
  readonly #plan: HistoryPlan;
  readonly #accounts: Account[] = [];
  /** Those of all accounts. */
  readonly #clients: SimulatedClient[] = [];
  readonly #hosts: SimulatedHost[] = [];
  readonly #faults: Faults;
  readonly #hooks: HookReceiver;
  readonly #invariants: Invariants;
  readonly #commands = new Commands((what) => this.#invariants.violate(what));

  constructor(world: World, code: ProductionCode, plan: HistoryPlan | undefined) {
    this.#world = world;
    this.#code = code;
    this.#network = current = new Network(world);
    this.#edge = new SimulatedEdge(world, this.#network, (code.before ?? code).edge);
    const planned = planHistory(world.random.fork());
    this.#plan = code.before ? withUpgrade(plan ?? planned) : (plan ?? planned);
    const parts = { world, network: this.#network, edge: this.#edge, plan: this.#plan, hosts: this.#hosts };
    this.#faults = new Faults(parts);
    this.#hooks = new HookReceiver(this.#network, () => this.#faults.strikes("hookFails"));
    this.#invariants = new Invariants({
      ...parts,
      accounts: this.#accounts,
      clients: this.#clients,
      hooks: this.#hooks,
      onWrite: () => this.#faults.noticed(),
      recentFaults: () => this.#faults.recent(RECENT_MS),
    });
  }

  async run(): Promise<void> {
    const world = this.#world;
    await this.#setUp();
    this.#faults.start();
    this.#edge.startCron();
    const upgrade = this.#code.before && new Upgrade(world, this.#code, this.#edge, this.#hosts);
    const invariants = this.#invariants;
    const users = this.#startUsers();
    const check = (): void => invariants.checkStep();
    const haveCalled = (): boolean => users.every((one) => one.haveCalled);
    await world.run(world.now + DISTURBED_MAX_MS, haveCalled, check);
    if (upgrade) {
      upgrade.finish();
      await world.run(world.now, () => false, check); // what has begun to start sees the faults that hinder it
    }
    this.#faults.heal();
    invariants.healed();
    await this.#settle(users, check);
    await world.run(world.now + AFTERMATH_MS, () => false, check);
    if (this.#plan.hasLogs) await world.run(world.now + LOGS_MS, () => false, check);
    const isClientWaiting = !users.every(({ areOver }) => areOver);
    invariants.checkEnd({ isClientWaiting, isTunnelEndLeft: this.#isTunnelEndLeft });
    for (const one of users) one.checkDeletions();
    await this.#readAll(users);
    invariants.checkCalls();
    const violate = (what: string): void => invariants.violate(what);
    if (this.#plan.isAging) await new Aging({ world, edge: this.#edge, users, check, violate }).run();
  }

  logged(line: string): void {
    this.#invariants.checkLog(line);
  }

  failed(error: unknown): void {
    this.#invariants.violate(String(error));
  }

  outcome(): HistoryOutcome {
    return {
      seed: this.#world.seed,
      plan: this.#plan,
      violations: this.#invariants.violations,
      eventCount: this.#world.eventCount,
      simulatedMs: this.#world.elapsedMs,
      faults: this.#faults.counts,
      changes: this.#invariants.changes,
      jobCount: this.#clients.reduce((sum, { jobs }) => sum + jobs.length, 0),
      trace: this.#world.trace,
    };
  }

  /** Accounts with their endpoints and hosts, before there are faults. */
  async #setUp(): Promise<void> {
    const plan = this.#plan;
    const account = this.#account(plan, "client", ROOT_KEY);
    const client = account.firstClient;
    let isOver = false;
    client.run(this.#world, async () => {
      await account.setUp(this.#world, (joined) => this.#host(joined));
      if (plan.hasSecondAccount) {
        const second = this.#account(smallPlan(plan), "client of another account", await openAccount(client));
        await second.setUp(this.#world, (joined) => this.#host(joined));
      }
      for (const host of this.#hosts) host.start();
      isOver = true;
    });
    await this.#runUntil(() => isOver);
  }

  #account(plan: HistoryPlan, name: string, key: string): Account {
    const clients = Array.from({ length: plan.clientCount }, (_, index) => {
      const client: SimulatedClient = new SimulatedClient(`${name} ${index + 1}`, key, (call, answer) =>
        this.#invariants.answered(client, call, answer),
      );
      return client;
    });
    const account = new Account(plan, clients);
    this.#accounts.push(account);
    this.#clients.push(...clients);
    return account;
  }

  #host(joined: JoinedHost): SimulatedHost {
    const host = new SimulatedHost({
      ...joined,
      world: this.#world,
      code: (this.#code.before ?? this.#code).agent,
      edgeUrl: EDGE_URL,
      faults: () => this.#faults.workerFaults(),
      runtimeFaults: this.#faults.ofRuntimes,
      observer: this.#invariants.executions,
      requests: this.#invariants.requests,
      commands: this.#commands,
      jobsPerWorker: this.#plan.jobsPerWorker,
      startMs: this.#plan.startMs,
      openOutput: (spec, clock) => this.#invariants.logs.open(spec, clock),
      onLog: (event, fields) => this.#invariants.agentLogged(event, fields),
    });
    host.containers.noticed = () => this.#faults.noticed(host);
    this.#hosts.push(host);
    return host;
  }

  /** Of each account. */
  #startUsers(): readonly Users[] {
    const onOperation = (): void => this.#faults.progressed();
    const parts = {
      world: this.#world,
      edge: this.#edge,
      invariants: this.#invariants,
      commands: this.#commands,
      onOperation,
    };
    const users = this.#accounts.map((account) => {
      const other = this.#accounts.find((one) => one !== account) ?? null;
      return new Users({ ...parts, account, other });
    });
    for (const one of users) one.start();
    for (const one of users) for (const other of users) if (other !== one) one.trespassOn(other);
    return users;
  }

  async #runUntil(isOver: () => boolean, check = (): void => {}): Promise<void> {
    await this.#world.run(this.#world.now + DISTURBED_MAX_MS, isOver, check);
  }

  /** Until all has ended that can end. */
  async #settle(allUsers: readonly Users[], check: () => void): Promise<void> {
    const world = this.#world;
    const settlings = allUsers.map((users) => new Settling({ world, edge: this.#edge, users }));
    for (const settling of settlings) settling.start();
    const areOver = (): boolean => [...allUsers, ...settlings].every((one) => one.areOver);
    let lookAt = 0;
    const isQuiet = (): boolean => {
      if (world.now < lookAt || !areOver() || this.#isTunnelEndLeft) return false;
      lookAt = world.now + LOOK_MS;
      return this.#invariants.isSettled();
    };
    await world.run(world.now + HEALING_MS, isQuiet, check);
  }

  /** What clients read at last fits what they read before. */
  async #readAll(allUsers: readonly Users[]): Promise<void> {
    const violate = (what: string): void => this.#invariants.violate(what);
    const parts = { world: this.#world, edge: this.#edge, violate };
    const readings = allUsers.map((users) => new LastReading({ ...parts, users }));
    for (const reading of readings) reading.start();
    // Jobs of low priority may still run.
    await this.#runUntil(
      () => readings.every(({ isOver }) => isOver),
      () => this.#invariants.checkStep(),
    );
    this.#invariants.logs.checkEnd();
  }

  get #isTunnelEndLeft(): boolean {
    return this.#hosts.some(({ containers }) => containers.openSockets.size > 0);
  }
}

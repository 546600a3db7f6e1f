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
import { Account, type JoinedHost, openAccount } from "./account.ts";
import { type Answer, SimulatedClient } from "./client.ts";
import { Commands } from "./commands.ts";
import { Faults } from "./disturbances.ts";
import { HookReceiver } from "./hooks.ts";
import { Invariants } from "./invariants.ts";
import { LastReading } from "./last-reading.ts";
import { type Fault, type HistoryPlan, planHistory } from "./plan.ts";
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
  readonly changes: ReadonlyMap<string, number>;
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
  readonly #account: Account;
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
    const clients = Array.from({ length: this.#plan.clientCount }, (_, index) =>
      this.#client(`client ${index + 1}`, ROOT_KEY),
    );
    this.#account = new Account(this.#plan, clients);
    const { hosts, endpointIds } = this.#account;
    const parts = { world, network: this.#network, edge: this.#edge, plan: this.#plan, hosts, endpointIds };
    this.#faults = new Faults(parts);
    this.#hooks = new HookReceiver(this.#network, () => this.#faults.strikes("hookFails"));
    this.#invariants = new Invariants({
      ...parts,
      clients,
      hooks: this.#hooks,
      onWrite: () => this.#faults.noticed(),
    });
  }

  async run(): Promise<void> {
    const world = this.#world;
    const stranger = await this.#setUp();
    this.#faults.start();
    this.#edge.startCron();
    const upgrade = this.#code.before && new Upgrade(world, this.#code, this.#edge, this.#account.hosts);
    const invariants = this.#invariants;
    const account = this.#account;
    const users = new Users({ world, account, stranger, invariants, commands: this.#commands });
    users.start();
    const check = (): void => invariants.checkStep();
    await world.run(world.now + DISTURBED_MAX_MS, () => users.haveCalled, check);
    upgrade?.finish();
    this.#faults.heal();
    invariants.healed();
    await this.#settle(users, check);
    await world.run(world.now + AFTERMATH_MS, () => false, check);
    if (this.#plan.hasLogs) await world.run(world.now + LOGS_MS, () => false, check);
    invariants.checkEnd({ isClientWaiting: !users.areOver, isTunnelEndLeft: this.#isTunnelEndLeft });
    await this.#readAll(users);
    invariants.checkCalls();
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
      jobCount: this.#account.clients.reduce((sum, { jobs }) => sum + jobs.length, 0),
      trace: this.#world.trace,
    };
  }

  #client(name: string, key: string): SimulatedClient {
    const onAnswer = (what: string, answer: Answer): void => this.#invariants.answered(what, answer);
    return new SimulatedClient(name, key, onAnswer);
  }

  /** Endpoints and hosts, before there are faults. Returns a client of another account, where there is one. */
  async #setUp(): Promise<SimulatedClient | null> {
    const { firstClient: client, hosts } = this.#account;
    let stranger: SimulatedClient | null = null;
    await this.#complete(client, async () => {
      await this.#account.setUp((joined) => this.#host(joined));
      if (this.#plan.hasStranger)
        stranger = new SimulatedClient("stranger", await openAccount(client), () => {});
      for (const host of hosts) host.start();
    });
    return stranger;
  }

  async #complete(client: SimulatedClient, act: () => Promise<void>): Promise<void> {
    let isOver = false;
    client.run(this.#world, async () => {
      await act();
      isOver = true;
    });
    await this.#runUntil(() => isOver);
  }

  async #runUntil(isOver: () => boolean): Promise<void> {
    await this.#world.run(this.#world.now + DISTURBED_MAX_MS, isOver, () => {});
  }

  /** Until all has ended that can end. */
  async #settle(users: Users, check: () => void): Promise<void> {
    const world = this.#world;
    const settling = new Settling({ world, edge: this.#edge, account: this.#account, users });
    settling.start();
    let lookAt = 0;
    const isQuiet = (): boolean => {
      if (world.now < lookAt || !users.areOver || this.#isTunnelEndLeft || !settling.arePodsOver)
        return false;
      lookAt = world.now + LOOK_MS;
      return this.#invariants.isSettled();
    };
    await world.run(world.now + HEALING_MS, isQuiet, check);
  }

  /** What clients read at last fits what they read before. */
  async #readAll(users: Users): Promise<void> {
    const violate = (what: string): void => this.#invariants.violate(what);
    const parts = { world: this.#world, edge: this.#edge, account: this.#account, users, violate };
    const reading = new LastReading(parts);
    reading.start();
    await this.#runUntil(() => reading.isOver);
    this.#invariants.logs.checkEnd();
  }

  get #isTunnelEndLeft(): boolean {
    return this.#account.hosts.some(({ containers }) => containers.openSockets.size > 0);
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
    return host;
  }
}

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
import { type Answer, type KnownJob, SimulatedClient } from "./client.ts";
import { Commands } from "./commands.ts";
import { Faults } from "./disturbances.ts";
import { countedJobs, endpointOf } from "./endpoint-rows.ts";
import { HookReceiver } from "./hooks.ts";
import { Invariants } from "./invariants.ts";
import { LogUser } from "./log-user.ts";
import { repair } from "./operator.ts";
import { makeRequestEndpoint, placeOfPods, placeOfWorkers } from "./request-places.ts";
import { RequestUser } from "./request-user.ts";
import { type Fault, type HistoryPlan, planHistory } from "./plan.ts";
import { TunnelUser } from "./tunnels.ts";
import { Upgrade, type Version, withUpgrade } from "./upgrade.ts";
import { Workload } from "./workload.ts";

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
/** After the last fault no message is under way for longer. */
const LAST_COPY_MS = 10_000;
/** Hosts have come back and follow what pods are told, and maintenance repairs changes that broke off a minute before. */
const PODS_MAINTENANCE_MS = 65_000;
const PODS_CHECK_MS = 20_000;
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
  readonly #hosts: SimulatedHost[] = [];
  readonly #clients: SimulatedClient[];
  readonly #faults: Faults;
  readonly #hooks: HookReceiver;
  readonly #invariants: Invariants;
  readonly #endpointIds: string[] = [];
  readonly #commands = new Commands((what) => this.#invariants.violate(what));
  #stranger: SimulatedClient | null = null;
  /** With load-balanced workers; null where there is none. */
  #requestEndpointId: string | null = null;
  #requestUsers: readonly RequestUser[] = [];
  #tunnelUsers: readonly TunnelUser[] = [];
  #logUsers: readonly LogUser[] = [];
  #arePodsOver = false;

  constructor(world: World, code: ProductionCode, plan: HistoryPlan | undefined) {
    this.#world = world;
    this.#code = code;
    this.#network = current = new Network(world);
    this.#edge = new SimulatedEdge(world, this.#network, (code.before ?? code).edge);
    const planned = planHistory(world.random.fork());
    this.#plan = code.before ? withUpgrade(plan ?? planned) : (plan ?? planned);
    const onAnswer = (what: string, answer: Answer): void => this.#invariants.answered(what, answer);
    this.#clients = Array.from(
      { length: this.#plan.clientCount },
      (_, index) => new SimulatedClient(`client ${index + 1}`, ROOT_KEY, onAnswer),
    );
    const parts = {
      world,
      network: this.#network,
      edge: this.#edge,
      hosts: this.#hosts,
      plan: this.#plan,
      endpointIds: this.#endpointIds,
    };
    this.#faults = new Faults(parts);
    this.#hooks = new HookReceiver(this.#network, () => this.#faults.strikes("hookFails"));
    this.#invariants = new Invariants({
      ...parts,
      clients: this.#clients,
      hooks: this.#hooks,
      onWrite: () => this.#faults.noticed(),
    });
  }

  async run(): Promise<void> {
    const world = this.#world;
    await this.#setUp();
    this.#faults.start();
    this.#edge.startCron();
    const upgrade = this.#code.before && new Upgrade(world, this.#code, this.#edge, this.#hosts);
    const workloads = this.#clients.map((client) => this.#workload(client));
    for (const workload of workloads) workload.start();
    this.#requestUsers = this.#clients.flatMap((client, index) =>
      this.#requestUsersOf(client, workloads[index]),
    );
    for (const user of this.#requestUsers) user.start();
    const isOver = (): boolean => workloads.every((workload) => workload.isOver);
    this.#tunnelUsers = this.#plan.hasTunnels ? this.#clients.map((client) => this.#tunnelUser(client)) : [];
    for (const user of this.#tunnelUsers) user.start();
    this.#logUsers = this.#plan.hasLogs ? this.#clients.map((client) => this.#logUser(client)) : [];
    for (const user of this.#logUsers) user.start();
    const haveClientsEnded = (): boolean => isOver() && this.#areForwardsOver;
    const check = (): void => this.#invariants.checkStep();
    await world.run(world.now + DISTURBED_MAX_MS, isOver, check);
    upgrade?.finish();
    this.#faults.heal();
    this.#invariants.healed();
    for (const { operator } of workloads) operator.close();
    this.#settleSettings();
    this.#settlePods(workloads);
    let lookAt = 0;
    const isQuiet = (): boolean => {
      if (world.now < lookAt || !haveClientsEnded() || this.#isTunnelEndLeft || !this.#arePodsOver)
        return false;
      lookAt = world.now + LOOK_MS;
      return this.#invariants.isSettled();
    };
    await world.run(world.now + HEALING_MS, isQuiet, check);
    await world.run(world.now + AFTERMATH_MS, () => false, check);
    if (this.#plan.hasLogs) await world.run(world.now + LOGS_MS, () => false, check);
    this.#invariants.checkEnd({
      isClientWaiting: !haveClientsEnded(),
      isTunnelEndLeft: this.#isTunnelEndLeft,
    });
    await this.#readAll(workloads);
    this.#invariants.checkCalls();
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

  #workload(client: SimulatedClient): Workload {
    const violate = (what: string): void => this.#invariants.violate(what);
    const mayHaveLeftChunks = ({ endpointId, jobId }: KnownJob, mark: number): boolean =>
      this.#invariants.executions.mayHaveLeftChunks(endpointId, jobId, mark);
    const stranger = this.#stranger;
    const clients = this.#clients;
    const parts = {
      world: this.#world,
      plan: this.#plan,
      endpointIds: this.#endpointIds,
      client,
      clients,
      stranger,
    };
    const { purges } = this.#invariants;
    return new Workload({ ...parts, violate, purges, mayHaveLeftChunks });
  }

  #requestUsersOf(client: SimulatedClient, workload: Workload | undefined): RequestUser[] {
    const endpointId = this.#requestEndpointId;
    const [world, plan] = [this.#world, this.#plan];
    const { requests, hasPlatformFaults } = this.#invariants;
    const parts = { world, plan, client, requests, hasPlatformFaults };
    const users: RequestUser[] = [];
    if (endpointId !== null)
      users.push(
        new RequestUser({
          ...parts,
          stranger: this.#stranger,
          place: placeOfWorkers(world, plan, endpointId),
        }),
      );
    if (workload && plan.hasPodRequests)
      users.push(new RequestUser({ ...parts, stranger: null, place: placeOfPods(world, workload.pods) }));
    return users;
  }

  #tunnelUser(client: SimulatedClient): TunnelUser {
    const violate = (what: string): void => this.#invariants.violate(what);
    const parts = { world: this.#world, plan: this.#plan, client, hosts: this.#hosts };
    return new TunnelUser({ ...parts, commands: this.#commands, violate });
  }

  #logUser(client: SimulatedClient): LogUser {
    const { logs } = this.#invariants;
    const violate = (what: string): void => this.#invariants.violate(what);
    const others = this.#requestEndpointId === null ? [] : [this.#requestEndpointId];
    const endpointIds = [...this.#endpointIds, ...others];
    const parts = { world: this.#world, plan: this.#plan, client, stranger: this.#stranger };
    return new LogUser({ ...parts, endpointIds, logs, violate });
  }

  /** Those that clients have made to containers. */
  get #areForwardsOver(): boolean {
    return [...this.#requestUsers, ...this.#tunnelUsers].every((user) => user.isOver);
  }

  get #isTunnelEndLeft(): boolean {
    return this.#hosts.some(({ containers }) => containers.openSockets.size > 0);
  }

  /** A copy of a pause that arrived late may have undone its end; no such copy is under way any more. */
  #settleSettings(): void {
    const [client] = this.#clients as [SimulatedClient];
    client.run(this.#world, async () => {
      await new Promise((resolve) => setTimeout(resolve, LAST_COPY_MS));
      for (const endpointId of this.#endpointIds) await repair(client, endpointId, this.#plan);
    });
  }

  /** Pods end, so that the jobs which wait get the hosts. */
  #settlePods(workloads: readonly Workload[]): void {
    this.#arePodsOver = !this.#plan.hasPods;
    if (this.#arePodsOver) return;
    for (const { pods } of workloads) pods.close();
    const [client] = this.#clients as [SimulatedClient];
    client.run(this.#world, async () => {
      await new Promise((resolve) => setTimeout(resolve, PODS_MAINTENANCE_MS));
      this.#edge.maintain();
      await new Promise((resolve) => setTimeout(resolve, PODS_CHECK_MS));
      for (const { pods } of workloads) await pods.check(this.#hosts);
      for (const { pods } of workloads) await pods.terminateAll();
      this.#arePodsOver = true;
    });
  }

  /** Endpoint and hosts, before there are faults. */
  async #setUp(): Promise<void> {
    const [client] = this.#clients as [SimulatedClient];
    let isDone = false;
    client.run(this.#world, async () => {
      for (const gpuCount of this.#plan.endpointGpus)
        this.#endpointIds.push(await makeEndpoint(client, this.#plan, gpuCount));
      if (this.#plan.hasRequests) this.#requestEndpointId = await makeRequestEndpoint(client, this.#plan);
      for (const gpuCount of this.#plan.hostGpus) this.#hosts.push(await this.#join(client, gpuCount));
      if (this.#plan.hasStranger) this.#stranger = await this.#openAccount(client);
      for (const host of this.#hosts) host.start();
      isDone = true;
    });
    await this.#world.run(
      this.#world.now + DISTURBED_MAX_MS,
      () => isDone,
      () => {},
    );
  }

  async #openAccount(client: SimulatedClient): Promise<SimulatedClient> {
    const { accountCreate } = await client.manage(
      `mutation { accountCreate(input: { name: "other" }) { apiKey } }`,
    );
    return new SimulatedClient("stranger", accountCreate?.["apiKey"] ?? "", () => {});
  }

  async #join(client: SimulatedClient, gpuCount: number): Promise<SimulatedHost> {
    const { joinTokenCreate } = await client.manage(
      `mutation { joinTokenCreate(input: { name: "host" }) { token } }`,
    );
    const inventory = { gpus: [], cpuCount: 1, memoryMb: 1, diskFreeMb: 1, runtime: "process" };
    const joining = { joinToken: joinTokenCreate?.["token"], name: "host", agentVersion: "0.3.0", inventory };
    const joined = await client.call("POST", "/agent/v1/join", joining);
    const { hostId, hostToken } = (joined?.body ?? {}) as {
      readonly hostId: string;
      readonly hostToken: string;
    };
    const host = new SimulatedHost({
      world: this.#world,
      code: (this.#code.before ?? this.#code).agent,
      edgeUrl: EDGE_URL,
      hostId,
      hostToken,
      gpuCount,
      faults: () => this.#faults.workerFaults(),
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

  /** What clients read at last fits what they read before. */
  async #readAll(workloads: readonly Workload[]): Promise<void> {
    let left = 0;
    for (const [index, client] of this.#clients.entries()) {
      left += 1;
      client.run(this.#world, async () => {
        for (const job of client.jobs) {
          const answer = await workloads[index]?.jobs.read(job);
          if (!answer || answer.status >= 500)
            this.#invariants.violate(`${job.jobId} cannot be read at the end: ${answer?.status}`);
          if (answer?.status === 200) await workloads[index]?.streams.check(job);
        }
        await workloads[index]?.batches.check();
        if (index === 0) await this.#checkCounts(client);
        await this.#logUsers[index]?.check();
        left -= 1;
      });
    }
    await this.#world.run(
      this.#world.now + DISTURBED_MAX_MS,
      () => left === 0,
      () => {},
    );
    this.#invariants.logs.checkEnd();
  }

  /** What counts is what there is: of jobs, what their rows say, and of requests nothing, since all are over. */
  async #checkCounts(client: SimulatedClient): Promise<void> {
    for (const { name, storage } of this.#edge.endpoints.objects.values()) {
      const endpointId = endpointOf(name);
      const answer = await client.call("GET", `/v2/${endpointId}/health`);
      const counted = answer?.status === 200 ? answer.body["jobs"] : undefined;
      if (counted === undefined) continue;
      const isOfRequests = endpointId === this.#requestEndpointId;
      const found = isOfRequests ? { inProgress: 0, inQueue: 0 } : countedJobs(storage);
      for (const [what, count] of Object.entries(found)) {
        const shown = (counted as Record<string, number>)[what];
        if (shown !== count)
          this.#invariants.violate(`${endpointId} counts ${shown} as ${what}, not ${count}`);
      }
    }
  }
}

async function makeEndpoint(client: SimulatedClient, plan: HistoryPlan, gpuCount: number): Promise<string> {
  const { workersMax, workersMin, executionTimeoutMs, idleTimeoutS, hasFlashBoot } = plan;
  const template = `template: { name: "t", imageName: "i", containerDiskInGb: 5, dockerArgs: "" }`;
  const { scalerType, scalerValue } = plan;
  const flashBoot = `flashBootType: ${hasFlashBoot ? "FLASHBOOT" : "OFF"}`;
  const scale = `workersMin: ${Math.min(workersMin, workersMax)}, workersMax: ${workersMax}, idleTimeout: ${idleTimeoutS}, scalerType: "${scalerType}", scalerValue: ${scalerValue}`;
  const input = `{ name: "e", ${template}, gpuIds: "ADA_24", gpuCount: ${gpuCount}, ${scale}, ${flashBoot}, executionTimeoutMs: ${executionTimeoutMs} }`;
  const { saveEndpoint } = await client.manage(`mutation { saveEndpoint(input: ${input}) { id } }`);
  return saveEndpoint?.["id"] ?? "";
}

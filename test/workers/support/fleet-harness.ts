/**
 * A fleet in the hands of a test: an account of its own, its endpoints with their jobs, hosts that do what they are
 * told, and a clock that the test moves.
 */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test as base, vi } from "vitest";
import type {
  Assignment,
  DispatchedJob,
  SyncRequest,
  WorkerReport,
  WorkerState,
} from "../../../src/contract/agent/agent.ts";
import type { QueueReason } from "../../../src/contract/job.ts";
import { INVENTORY, ScriptedAgent } from "../agent-client.ts";
import { EdgeClient } from "../edge-client.ts";
import { evict, fireAlarm, fleetObject, passTime } from "../object.ts";
import { notYet, until } from "./until.ts";

type Inventory = SyncRequest["inventory"];
type HostOptions = {
  readonly name?: string;
  /** The tiers of its GPUs; two of each tier when nothing is said. */
  readonly gpus?: readonly string[];
  readonly canFreeze?: boolean;
  /** What its workers are until the test says otherwise: ready by default. */
  readonly state?: WorkerState;
};
export type WorkerCounts = Readonly<
  Record<"idle" | "initializing" | "ready" | "running" | "throttled" | "unhealthy", number>
>;
export type Queue = { readonly position: number; readonly reason: QueueReason; readonly detail: string };

export const NO_WORKERS: WorkerCounts = {
  idle: 0,
  initializing: 0,
  ready: 0,
  running: 0,
  throttled: 0,
  unhealthy: 0,
};

/** A test with a fleet of its own; `Date` stands still until the test moves it. */
export const test = base.extend<{ fleet: FleetHarness }>({
  fleet: async ({ task: _ }, use) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await use(new FleetHarness(await EdgeClient.ofNewAccount()));
  },
});

/** The same with a clock that goes on by itself, for what objects do at intervals. */
export const testInTime = base.extend<{ fleet: FleetHarness }>({
  fleet: async ({ task: _ }, use) => {
    vi.useFakeTimers({ toFake: ["Date"], shouldAdvanceTime: true });
    await use(new FleetHarness(await EdgeClient.ofNewAccount()));
  },
});

export class FleetHarness {
  readonly api: EdgeClient;

  constructor(api: EdgeClient) {
    this.api = api;
  }

  /** That of the account. */
  get object() {
    return fleetObject(this.api.accountId);
  }

  /** As Fleet hears of it, beside D1. */
  async removeHost({ hostId }: ScriptedAgent): Promise<void> {
    await this.object.removeHost({ id: hostId, accountId: this.api.accountId, name: "host" });
  }

  async endpoint(settings?: string): Promise<TestEndpoint> {
    return new TestEndpoint(this.api, await this.api.createEndpoint(settings));
  }

  /** A host that has told the edge what it has. */
  async host(options: HostOptions = {}): Promise<TestHost> {
    const host = new TestHost(this, await ScriptedAgent.join(this.api, options.name), options);
    await host.agent.sync({ inventory: host.inventory });
    return host;
  }

  async updateHost({ agent }: TestHost, fields: string): Promise<void> {
    await this.api.graphql(`mutation { hostUpdate(input: { id: "${agent.hostId}", ${fields} }) { id } }`);
  }

  /** Loses what it has in memory. */
  async evict(): Promise<void> {
    await evictDurableObject(this.object);
  }

  /** Runs what Fleet has planned for a time that is over. */
  async fireAlarm(): Promise<boolean> {
    return runDurableObjectAlarm(this.object);
  }
}

export class TestEndpoint {
  readonly id: string;
  readonly #api: EdgeClient;

  constructor(api: EdgeClient, id: string) {
    this.#api = api;
    this.id = id;
  }

  get(path: string) {
    return this.#api.call("GET", `/v2/${this.id}/${path}`);
  }

  post(path: string, body?: unknown) {
    return this.#api.call("POST", `/v2/${this.id}/${path}`, body);
  }

  remove(path: string) {
    return this.#api.call("DELETE", `/v2/${this.id}/${path}`);
  }

  async save(fields: string): Promise<void> {
    await this.#api.graphql(`mutation { saveEndpoint(input: { id: "${this.id}", ${fields} }) { id } }`);
  }

  async delete(): Promise<void> {
    await this.save("workersMin: 0, workersMax: 0");
    await this.#api.graphql(`mutation { deleteEndpoint(id: "${this.id}") }`);
  }

  /** Submits a job; returns its id. */
  async submit(policy: object = {}): Promise<string> {
    const { body } = await this.post("run", { input: 1, policy });
    return String(body["id"]);
  }

  async submitMany(count: number, policy: object = {}): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.submit(policy)));
  }

  async status(jobId: string): Promise<Record<string, unknown>> {
    return (await this.get(`status/${jobId}`)).body;
  }

  async health(): Promise<Record<string, unknown>> {
    return (await this.get("health")).body;
  }

  async workers(): Promise<WorkerCounts> {
    return (await this.health())["workers"] as WorkerCounts;
  }

  /** Resolves once the endpoint has heard of such workers. */
  async untilWorkers(counts: Partial<WorkerCounts>): Promise<void> {
    const look = async () => {
      expect(await this.workers()).toMatchObject(counts);
      return true;
    };
    await until(look, `the endpoint has the workers ${JSON.stringify(counts)}`);
  }

  /** Why the job waits, once this is the reason: objects tell each other in the background. */
  async untilWaits(jobId: string, reason: QueueReason): Promise<Queue> {
    const look = async () => {
      const queue = (await this.status(jobId))["queue"] as Queue | undefined;
      return queue?.reason === reason ? queue : notYet(queue);
    };
    return until(look, `the job waits for ${reason}`);
  }

  /** Time passes, and the alarm of the endpoint fires. */
  async later(ms: number): Promise<void> {
    passTime(ms);
    await fireAlarm(this.id);
  }

  /** Loses what it has in memory. */
  async evict(): Promise<void> {
    await evict(this.id);
  }
}

/** A host that does at once what it is told: it runs workers, freezes them, removes them. */
export class TestHost {
  readonly agent: ScriptedAgent;
  /** What it tells the edge that it has. */
  inventory: Inventory;
  readonly #state: WorkerState;
  readonly #states = new Map<string, { readonly state: WorkerState; readonly detail?: string }>();
  readonly #endpointIds = new Map<string, string>();
  readonly #fleet: FleetHarness;

  constructor(
    fleet: FleetHarness,
    agent: ScriptedAgent,
    { gpus, canFreeze = false, state = "ready" }: HostOptions,
  ) {
    this.#fleet = fleet;
    this.agent = agent;
    this.#state = state;
    const listed = gpus?.map((tier, index) => ({ index, name: tier, tier, memoryMb: 1, isSimulated: true }));
    this.inventory = { ...INVENTORY, canFreeze, gpus: listed ?? INVENTORY.gpus };
  }

  /** From its next sync on, the host says this of the worker. */
  set(workerId: string, state: WorkerState, detail?: string): void {
    this.#states.set(workerId, { state, ...(detail !== undefined && { detail }) });
  }

  /** Hears what it shall have, has it and says so. */
  async sync(): Promise<readonly Assignment[]> {
    const { inventory } = this;
    const { revision, assignments } = await this.agent.sync({ inventory });
    const workers = assignments.map((assignment) => this.#report(assignment));
    await this.agent.sync({ inventory, appliedRevision: revision, workers });
    for (const { workerId, endpointId } of assignments) this.#endpointIds.set(workerId, endpointId);
    return assignments;
  }

  #report({ workerId, endpointId, revision, mode }: Assignment): WorkerReport {
    const frozen = { state: "stopping", isStandby: true } as const;
    const running = this.#states.get(workerId) ?? { state: this.#state };
    return { workerId, endpointId, revision, ...(mode === "standby" ? frozen : running) };
  }

  /** Resolves with the workers of the endpoint here, once they are so many and it knows that all take jobs. */
  async untilReady(endpoint: TestEndpoint, count: number): Promise<string[]> {
    const look = async () => {
      const own = (await this.sync()).filter(({ endpointId }) => endpointId === endpoint.id);
      const { idle, running } = await endpoint.workers();
      const seen = { assigned: own.length, ready: idle + running };
      return seen.assigned === count && seen.ready === count
        ? own.map(({ workerId }) => workerId)
        : notYet(seen);
    };
    return until(look, `the endpoint has ${count} ready workers on the host`);
  }

  /** Resolves with the ids of its workers, once they are of these versions. */
  async untilVersions(...versions: readonly number[]): Promise<string[]> {
    return this.untilHas("versions", versions, ({ revision }) => revision);
  }

  /** Resolves with the ids of its workers, sorted by what `of` tells of them, once that is as expected, in this order. */
  async untilHas<T extends string | number>(
    what: string,
    expected: readonly T[],
    of: (assignment: Assignment) => T,
  ): Promise<string[]> {
    const look = async () => {
      const found = (await this.sync()).toSorted((a, b) => (of(a) < of(b) ? -1 : Number(of(a) > of(b))));
      const seen = found.map(of);
      return seen.join() === expected.join() ? found.map(({ workerId }) => workerId) : notYet(seen);
    };
    return until(look, `the host has these ${what}: [${expected.join()}]`);
  }

  /** Resolves once so many of its syncs wait outside of Fleet. */
  async untilSyncsWait(count = 1): Promise<void> {
    const look = async () => {
      const tag = `host:${this.agent.hostId}`;
      const waiting = await runInDurableObject(
        this.#fleet.object,
        (_, state) => state.getWebSockets(tag).length,
      );
      return waiting === count || notYet(waiting);
    };
    await until(look, `${count} syncs of the host wait`);
  }

  /** Offers free slots of workers of one endpoint; returns the jobs that it is given. */
  async offer(workerIds: readonly string[], free = 1): Promise<readonly DispatchedJob[]> {
    const slots = workerIds.map((workerId) => ({ workerId, free }));
    return (await this.agent.exchange(this.#endpointOf(workerIds[0]), { slots })).jobs;
  }

  async complete(...jobs: readonly DispatchedJob[]): Promise<void> {
    for (const job of jobs) await this.agent.complete(this.#endpointOf(job.workerId), job, 1);
  }

  /** Ends a job and offers its worker again, as agents do, in one exchange. */
  async completeAndOffer({ id: jobId, attempt, workerId }: DispatchedJob): Promise<readonly DispatchedJob[]> {
    const reports = [{ kind: "completed" as const, jobId, attempt, workerId, output: 1 }];
    const slots = [{ workerId, free: 1 }];
    return (await this.agent.exchange(this.#endpointOf(workerId), { reports, slots })).jobs;
  }

  /** A new job of the endpoint runs through one of its workers here; returns the worker's id. */
  async work(endpoint: TestEndpoint): Promise<string> {
    const jobId = await endpoint.submit();
    const look = async () => {
      const assignments = await this.sync();
      const running = assignments.filter(({ endpointId, mode }) => endpointId === endpoint.id && !mode);
      const [job] = running.length === 0 ? [] : await this.offer(running.map(({ workerId }) => workerId));
      if (job) await this.complete(job);
      const { status } = await endpoint.status(jobId);
      return job && status === "COMPLETED"
        ? job.workerId
        : notYet({ status, assignments: assignments.length });
    };
    return until(look, "a worker of the host has run the job");
  }

  #endpointOf(workerId = ""): string {
    const endpointId = this.#endpointIds.get(workerId);
    if (endpointId === undefined) throw new Error(`The host has never had the worker '${workerId}'.`);
    return endpointId;
  }
}

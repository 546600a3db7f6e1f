/**
 * Endpoints of one account that share the GPUs of one host: the production code of edge and agent, without faults, in
 * simulated time.
 */
import type { WorkerSpec } from "../../../node-agent/runtime/interface/runtime.ts";
import { SimulatedClient } from "../history/client.ts";
import { joinHost } from "../history/account.ts";
import { type AgentCode, SimulatedHost } from "../host/host.ts";
import { unlimitedInventory } from "../host/inventory.ts";
import type { WorkerFaults } from "../host/worker.ts";
import { type EdgeCode, EDGE_URL, ROOT_KEY, SimulatedEdge } from "../runtime/edge.ts";
import { emptyCaches } from "../runtime/isolate-caches.ts";
import type { Network } from "../runtime/network.ts";
import { enterWorld } from "../world/globals.ts";
import type { World } from "../world/world.ts";

/** An endpoint of a scenario, and what is submitted to it. */
export type EndpointLoad = {
  readonly name: string;
  /** Settings of `saveEndpoint`, as GraphQL. */
  readonly settings: string;
  /** Typical time of a handler, ms. */
  readonly handlerMs: number;
  /** When its jobs are submitted, ms of the scenario. */
  readonly jobsAt: readonly number[];
};

export type Scenario = {
  readonly gpuCount: number;
  /** Typical time of a start, ms. */
  readonly startMs: number;
  readonly endpoints: readonly EndpointLoad[];
  readonly durationMs: number;
};

/** What happened to a job, in ms of the scenario; `endedAt` is null while it runs. */
export type JobRun = {
  readonly endpoint: string;
  readonly submittedAt: number;
  beganAt: number | null;
  endedAt: number | null;
};

export type Outcome = {
  readonly jobs: readonly JobRun[];
  /** Containers that were started. */
  readonly starts: number;
  /** For how long each endpoint had GPUs, in ms of one GPU. */
  readonly gpuMs: ReadonlyMap<string, number>;
  readonly reasons: ReadonlySet<string>;
};

const SAMPLE_MS = 100;
const NO_FAULTS: Omit<WorkerFaults, "handlerMs"> = {
  ...{ streaming: 0, large: 0, fails: 0, dies: 0, hangs: 0 },
  ...{ repeats: 0, forgets: 0, stalls: 0, floods: 0 },
};
const TEMPLATE = `template: { name: "t", imageName: "i", containerDiskInGb: 5, dockerArgs: "" }`;
const WORKERS = "SELECT endpoint_id, gpu_indexes FROM worker WHERE standby_at IS NULL";
const QUEUE_LOOK_MS = 5_000;

export type Code = { readonly edge: EdgeCode; readonly agent: AgentCode };

/** Runs the scenario in a world of its own. */
export async function runScenario(
  scenario: Scenario,
  code: Code,
  world: World,
  network: Network,
): Promise<Outcome> {
  enterWorld(world);
  emptyCaches();
  try {
    return await new Run(scenario, code, world, network).run();
  } finally {
    enterWorld(undefined);
  }
}

class Run {
  readonly #scenario: Scenario;
  readonly #world: World;
  readonly #code: Code;
  readonly #edge: SimulatedEdge;
  readonly #client = new SimulatedClient("client", ROOT_KEY, () => {});
  readonly #runs = new Map<string, JobRun>();
  readonly #names = new Map<string, string>();
  readonly #gpuMs = new Map<string, number>();
  readonly #reasons = new Set<string>();
  #begunAt = 0;
  #sampledAt = 0;
  #starts = 0;

  constructor(scenario: Scenario, code: Code, world: World, network: Network) {
    this.#scenario = scenario;
    this.#world = world;
    this.#code = code;
    this.#edge = new SimulatedEdge(world, network, code.edge);
  }

  async run(): Promise<Outcome> {
    const world = this.#world;
    let isReady = false;
    this.#client.run(world, async () => {
      for (const endpoint of this.#scenario.endpoints) await this.#make(endpoint);
      await this.#startHost();
      isReady = true;
    });
    await world.run(
      world.now + 60_000,
      () => isReady,
      () => {},
    );
    this.#begunAt = this.#sampledAt = world.elapsedMs;
    for (const endpoint of this.#scenario.endpoints) this.#submitAll(endpoint);
    await world.run(
      world.now + this.#scenario.durationMs,
      () => false,
      () => this.#sample(),
    );
    return {
      jobs: [...this.#runs.values()],
      starts: this.#starts,
      gpuMs: this.#gpuMs,
      reasons: this.#reasons,
    };
  }

  get #now(): number {
    return this.#world.elapsedMs - this.#begunAt;
  }

  async #make({ name, settings }: EndpointLoad): Promise<void> {
    const input = `{ name: "${name}", ${TEMPLATE}, gpuIds: "ADA_24", gpuCount: 1, ${settings} }`;
    const { saveEndpoint } = await this.#client.manage(`mutation { saveEndpoint(input: ${input}) { id } }`);
    this.#names.set(saveEndpoint?.["id"] ?? "", name);
  }

  async #startHost(): Promise<void> {
    const { gpuCount, startMs } = this.#scenario;
    const nothing = (): void => {};
    const host = new SimulatedHost({
      ...(await joinHost(this.#client)),
      world: this.#world,
      code: this.#code.agent,
      edgeUrl: EDGE_URL,
      inventory: unlimitedInventory(gpuCount),
      faults: (spec) => ({ ...NO_FAULTS, handlerMs: this.#loadOf(spec)?.handlerMs ?? 0 }),
      runtimeFaults: {
        ignoresStop: () => false,
        killHangsMs: () => 0,
        pullDelayMs: () => 0,
        pullFailed: nothing,
      },
      observer: {
        began: (jobId) => this.#change(jobId, "beganAt"),
        ended: (jobId) => this.#change(jobId, "endedAt"),
        ...{
          returned: nothing,
          delivered: nothing,
          repeated: nothing,
          resultsLost: nothing,
          stopped: nothing,
        },
      },
      requests: NO_REQUESTS,
      commands: NO_COMMANDS,
      jobsPerWorker: 1,
      startMs,
      openOutput: () => {
        this.#starts += 1;
        return null;
      },
      onLog: nothing,
    });
    host.start();
  }

  #loadOf({ endpointId }: WorkerSpec): EndpointLoad | undefined {
    const name = this.#names.get(endpointId);
    return this.#scenario.endpoints.find((endpoint) => endpoint.name === name);
  }

  #change(jobId: string, key: "beganAt" | "endedAt"): void {
    const run = this.#runs.get(jobId);
    if (run) run[key] ??= this.#now;
  }

  #submitAll({ name, jobsAt }: EndpointLoad): void {
    const [endpointId] = [...this.#names].find(([, other]) => other === name) ?? [""];
    for (const at of jobsAt)
      this.#world.schedule(this.#client.machine, at, "submits", () => this.#submit(endpointId, name));
  }

  #submit(endpointId: string, endpoint: string): void {
    const submittedAt = this.#now;
    void this.#client.call("POST", `/v2/${endpointId}/run`, { input: {} }).then((answer) => {
      const { id: jobId } = (answer?.body ?? {}) as { readonly id?: string };
      if (jobId === undefined) return;
      this.#runs.set(jobId, { endpoint, submittedAt, beganAt: null, endedAt: null });
      setTimeout(() => void this.#askWhy(endpointId, jobId), QUEUE_LOOK_MS);
    });
  }

  /** Why the job waits, if it does. */
  async #askWhy(endpointId: string, jobId: string): Promise<void> {
    const answer = await this.#client.call("GET", `/v2/${endpointId}/status/${jobId}`);
    const queue = answer?.body["queue"] as { readonly reason?: string } | undefined;
    if (queue?.reason) this.#reasons.add(queue.reason);
  }

  #sample(): void {
    const elapsedMs = this.#world.elapsedMs - this.#sampledAt;
    if (elapsedMs < SAMPLE_MS) return;
    this.#sampledAt = this.#world.elapsedMs;
    for (const fleet of this.#edge.fleets.objects.values())
      for (const row of fleet.storage.select(WORKERS)) {
        const name = this.#names.get(String(row["endpoint_id"])) ?? "";
        const gpus = (JSON.parse(String(row["gpu_indexes"])) as number[]).length;
        this.#gpuMs.set(name, (this.#gpuMs.get(name) ?? 0) + gpus * elapsedMs);
      }
  }
}

const nothing = (): void => {};
const NO_REQUESTS = { left: nothing, conversations: {} } as never;
const NO_COMMANDS = { frozen: nothing } as never;

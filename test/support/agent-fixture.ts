/** An agent in this process, on the process runtime, against a scripted edge. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { Agent } from "../../node-agent/agent.ts";
import type { AdmissionControl } from "../../node-agent/link/admission.ts";
import type { AgentEvent, AgentLog, LogFields } from "../../node-agent/core/log.ts";
import { ProcessRuntime } from "../../node-agent/runtime/process/process-runtime.ts";
import type {
  PrepareOutcome,
  PrepareProgress,
  Runtime,
  WorkerSpec,
} from "../../node-agent/runtime/interface/runtime.ts";
import type { Timing } from "../../node-agent/core/timing.ts";
import type { Assignment, Inventory } from "../../src/contract/agent/agent.ts";
import { HOST_TOKEN, ScriptedEdge } from "./scripted-edge.ts";

const SCRIPT = fileURLToPath(new URL("./worker-script.mjs", import.meta.url));

const INVENTORY: Inventory = {
  gpus: [{ index: 0, name: "NVIDIA L4", tier: "AMPERE_24", memoryMb: 24_000, isSimulated: true }],
  cpuCount: 2,
  memoryMb: 4_096,
  diskFreeMb: 10_000,
  runtime: "process",
};

/** Waits that a test would otherwise sit through. */
const FAST: Partial<Timing> = {
  stopGraceMs: 400,
  stopCheckMs: 100,
  drainGraceMs: 2_000,
  drainPollHoldMs: 50,
  healthProbeMs: 50,
  healthProbeStartMs: 50,
  portHintAfterMs: 100,
  errorDelayMs: 50,
  restartBaseMs: 50,
  edgeRetryBaseMs: 20,
  edgeRetryCapMs: 200,
};

/** The assignment of a worker that runs test/support/worker-script.mjs. */
export function assignment(overrides: Partial<Assignment> = {}): Assignment {
  return {
    workerId: "worker-1",
    endpointId: "endpoint-1",
    revision: 1,
    type: "QB",
    imageName: "ignored",
    dockerArgs: `"${process.execPath}" "${SCRIPT}"`,
    env: {},
    containerDiskInGb: 1,
    gpuIndexes: [0],
    registryAuth: null,
    startLimitMs: 600_000,
    ...overrides,
  };
}

/** The process runtime; it notes what it was asked to start, and says of images what a test wants. */
class NotingRuntime extends ProcessRuntime {
  readonly specs = new Map<string, WorkerSpec>();
  readonly prepareOutcomes: PrepareOutcome[] = [];

  readonly pullDetails: string[] = [];

  override async prepare(
    spec: WorkerSpec,
    onProgress: (progress: PrepareProgress) => void,
    signal?: AbortSignal,
  ): Promise<PrepareOutcome> {
    for (const detail of this.pullDetails) onProgress({ what: "image", detail });
    const outcome = this.prepareOutcomes.shift() ?? (await super.prepare(spec, onProgress, signal));
    const isPulled = this.pullDetails.length > 0 && outcome.kind === "prepared";
    if (isPulled) onProgress({ what: "image", detail: null });
    return outcome;
  }

  override async start(spec: WorkerSpec): Promise<void> {
    this.specs.set(spec.workerId, spec);
    await super.start(spec);
  }
}

export type LoggedEvent = { readonly event: AgentEvent; readonly fields: LogFields };

export class AgentFixture {
  readonly edge: ScriptedEdge;
  readonly stateDir: string;
  readonly events: LoggedEvent[] = [];
  readonly #watchers = new Set<() => void>();
  readonly prepareOutcomes: PrepareOutcome[] = [];
  /** What the runtime says while it gets an image; nothing when the image is there. */
  readonly pullDetails: string[] = [];
  /** What the next agent says that the host has. */
  inventory: Inventory = INVENTORY;
  /** Where the next agent serves its metrics. */
  metrics: { readonly address: string; readonly port: number } | undefined;
  #agent: Agent | null = null;
  #runtime: NotingRuntime | null = null;
  /** What runs the workers in place of plain processes. */
  otherRuntime: Runtime | null = null;
  #disposed: Promise<void> | null = null;
  readonly #unauthorized = Promise.withResolvers<"unauthorized">();

  private constructor(edge: ScriptedEdge, stateDir: string) {
    this.edge = edge;
    this.stateDir = stateDir;
  }

  /** Nothing runs yet. */
  static async create(): Promise<AgentFixture> {
    const stateDir = await mkdtemp(join(tmpdir(), "edgerun-agent-"));
    const fixture = new AgentFixture(await ScriptedEdge.start(), stateDir);
    onTestFinished(() => fixture[Symbol.asyncDispose]()); // a test that hangs never comes to its end
    return fixture;
  }

  /** An agent that runs. */
  static async start(timing: Partial<Timing> = {}): Promise<AgentFixture> {
    const fixture = await AgentFixture.create();
    await fixture.startAgent(timing);
    return fixture;
  }

  async startAgent(timing: Partial<Timing> = {}): Promise<void> {
    this.#runtime = new NotingRuntime({
      stateDirectory: this.stateDir,
      hasRealGpus: false,
      log: this.#log(),
    });
    this.#runtime.prepareOutcomes.push(...this.prepareOutcomes);
    this.#runtime.pullDetails.push(...this.pullDetails);
    this.#agent = await Agent.start({
      edgeUrl: this.edge.url,
      hostToken: HOST_TOKEN,
      stateDir: this.stateDir,
      runtime: this.otherRuntime ?? this.#runtime,
      inventory: this.inventory,
      readInventory: async () => this.inventory,
      log: this.#log(),
      metrics: this.metrics,
      timing: { ...FAST, ...timing },
      onUnauthorized: () => this.#unauthorized.resolve("unauthorized"),
    });
  }

  /** Ends the agent as a restart would: its workers go on. */
  async stopAgent(): Promise<void> {
    await this.#agent?.stop({ removeWorkers: false });
    this.#agent = null;
  }

  /** Who takes requests here. */
  get admissionControl(): AdmissionControl {
    if (this.#agent === null) throw new Error("no agent runs");
    return this.#agent.admissionControl;
  }

  /** The edge does not accept this host's token. */
  get unauthorized(): Promise<"unauthorized"> {
    return this.#unauthorized.promise;
  }

  /** The environment that the agent gave a worker. */
  env(workerId: string, name: string): string {
    return this.#runtime?.specs.get(workerId)?.env[name] ?? "";
  }

  /** A second view of the same workers. */
  runtime(): ProcessRuntime {
    return new ProcessRuntime({ stateDirectory: this.stateDir, hasRealGpus: false });
  }

  /** Assigns one worker and waits until it takes jobs. */
  async readyWorker(overrides: Partial<Assignment> = {}): Promise<Assignment> {
    const one = assignment(overrides);
    this.edge.assign(one);
    await this.edge.worker(one.workerId, "ready");
    return one;
  }

  async logged(event: AgentEvent, count = 1): Promise<LoggedEvent> {
    for (;;) {
      const found = this.events.filter((entry) => entry.event === event)[count - 1];
      if (found) return found;
      await new Promise<void>((resolve) => {
        const resume = () => {
          this.#watchers.delete(resume);
          resolve();
        };
        this.#watchers.add(resume);
      });
    }
  }

  count(event: AgentEvent): number {
    return this.events.filter((entry) => entry.event === event).length;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    await this.#clearAway();
    if (this.edge.violations.length > 0)
      throw new Error(`The agent broke the contract: ${this.edge.violations.join("; ")}`);
  }

  /** Whatever of it fails, the rest is done. */
  async #clearAway(): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rm(this.stateDir, { recursive: true, force: true }));
    stack.use(this.edge);
    stack.defer(() => this.#removeWorkers());
    stack.defer(() => this.#agent?.stop({ removeWorkers: true }));
  }

  async #removeWorkers(): Promise<void> {
    const runtime = this.runtime();
    for (const { workerId } of await runtime.list()) await runtime.remove(workerId);
    await runtime.close();
  }

  #log(): AgentLog {
    const note = (event: AgentEvent, fields: LogFields = {}) => {
      this.events.push({ event, fields });
      for (const resume of [...this.#watchers]) resume();
    };
    return { debug: note, info: note, warn: note, error: note };
  }
}

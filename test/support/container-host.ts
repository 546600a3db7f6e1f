import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { DockerRuntime, type DockerRuntimeOptions } from "../../node-agent/runtime/docker/docker-runtime.ts";
import type { Timing } from "../../node-agent/core/timing.ts";
import type { Inventory, WorkerReport, WorkerState } from "../../src/contract/agent/agent.ts";
import { AgentFixture } from "./agent-fixture.ts";

/** An agent whose workers are containers, in a network of its own. */
export class ContainerHost {
  readonly fixture: AgentFixture;
  readonly runtime: DockerRuntime;
  readonly #options: DockerRuntimeOptions;
  #disposal: Promise<void> | undefined;

  private constructor(fixture: AgentFixture, options: DockerRuntimeOptions) {
    this.fixture = fixture;
    this.#options = options;
    this.runtime = new DockerRuntime(options);
    fixture.otherRuntime = this.runtime;
  }

  static async start(
    options: Partial<DockerRuntimeOptions> = {},
    timing: Partial<Timing> = {},
    inventory: Partial<Inventory> = {},
  ): Promise<ContainerHost> {
    const name = `edgerun-test-${randomUUID().slice(0, 8)}`;
    const own = { hostId: name, networkName: name, hasRealGpus: false, allowedRegistries: ["127.0.0.1"] };
    const fixture = await AgentFixture.create();
    fixture.inventory = { ...fixture.inventory, ...inventory };
    const artifacts = { stateDirectory: fixture.stateDir };
    const host = new ContainerHost(fixture, { ...own, artifacts, ...options });
    onTestFinished(() => host[Symbol.asyncDispose]());
    await host.fixture.startAgent(timing);
    return host;
  }

  /** The agent as it is after a restart: with a runtime of its own that knows nothing of the one before. */
  async restart(timing: Partial<Timing> = {}): Promise<void> {
    await this.fixture.stopAgent();
    this.fixture.otherRuntime = new DockerRuntime(this.#options);
    await this.fixture.startAgent(timing);
  }

  /** What the agent says of a worker, that one if it is named, once it is in a state. */
  async says(state: WorkerState, detail: RegExp, workerId?: string): Promise<string> {
    const { edge } = this.fixture;
    const isMeant = (worker: WorkerReport) => workerId === undefined || worker.workerId === workerId;
    const isThere = (worker: WorkerReport) => worker.state === state && detail.test(worker.detail ?? "");
    const report = await edge.until(() =>
      edge.syncs.at(-1)?.workers.find((worker) => isMeant(worker) && isThere(worker)),
    );
    return report.detail ?? "";
  }

  /** Once: what its test gave it may be gone later. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  async #dispose(): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.defer(() => this.runtime.removeNetwork());
    stack.use(this.fixture);
  }
}

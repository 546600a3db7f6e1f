/** A host that runs the pods that it is assigned, as its agent reports them. */
import type { Assignment, Inventory, SyncRequest, WorkerState } from "../../src/contract/agent/agent.ts";
import type { HostTelemetry } from "../../src/contract/agent/telemetry.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import type { EdgeClient } from "./edge-client.ts";

export const POD_CARD = "NVIDIA RTX A4000";
const GPU = { name: POD_CARD, tier: "AMPERE_16", memoryMb: 16_384, isSimulated: false };

/** Two GPUs, and an address under which ports of pods are reached. */
export const POD_HOST: Inventory = {
  ...INVENTORY,
  gpus: [0, 1].map((index) => ({ ...GPU, index })),
  cpuCount: 8,
  memoryMb: 32_000,
  diskFreeMb: 500_000,
  runtime: "docker",
  dataCenterId: "US-KS-2",
  canRunPods: true,
  publicAddress: "203.0.113.7",
};

/** The first GPU is measured. */
const TELEMETRY: HostTelemetry = {
  ...{
    ago: 0,
    cpuPercent: null,
    memoryUsedMb: null,
    memoryTotalMb: null,
    diskUsedMb: null,
    diskTotalMb: null,
  },
  ...{ networkReceivedBytesPerS: null, networkSentBytesPerS: null },
  gpus: [
    {
      ...{ index: 0, temperatureC: null, powerW: null },
      ...{ utilizationPercent: 75, memoryUsedMb: 4_096, memoryTotalMb: 16_384 },
    },
  ],
};

const FIRST_PUBLIC_PORT = 20_000;

export class PodAgent {
  readonly agent: ScriptedAgent;
  readonly inventory: Inventory;
  /** What it was assigned last. */
  assignments: readonly Assignment[] = [];
  podVolumes: readonly string[] | undefined;
  state: WorkerState = "ready";
  #revision = 0;

  private constructor(agent: ScriptedAgent, inventory: Inventory) {
    this.agent = agent;
    this.inventory = inventory;
  }

  static async join(client: Pick<EdgeClient, "graphql">, more: Partial<Inventory> = {}): Promise<PodAgent> {
    const host = new PodAgent(await ScriptedAgent.join(client), { ...POD_HOST, ...more });
    await host.follow();
    return host;
  }

  /** Hears what it shall run, runs it, and reports it. */
  async follow(): Promise<void> {
    await this.#sync([]);
    await this.#sync(this.assignments.map((assignment) => this.#report(assignment)));
  }

  assignmentOf(podId: string): Assignment | undefined {
    return this.assignments.find(({ workerId }) => workerId === podId);
  }

  async #sync(workers: SyncRequest["workers"]): Promise<void> {
    const { inventory } = this;
    const seen = { inventory, workers, telemetry: TELEMETRY };
    const reply = await this.agent.sync({ ...seen, appliedRevision: this.#revision });
    this.#revision = reply.revision;
    this.assignments = reply.assignments;
    this.podVolumes = reply.podVolumes;
  }

  #report({ workerId, endpointId, revision, pod }: Assignment): SyncRequest["workers"][number] {
    const tcp = pod?.ports.filter(({ protocol }) => protocol === "tcp") ?? [];
    const ports = tcp.map(({ port }, index) => {
      return { requested: port, private: port, public: FIRST_PUBLIC_PORT + index };
    });
    const ago = { containerStarted: 5_000, ready: 5_000 };
    const container = { ports, cpuPercent: 12.5, memoryPercent: 50 };
    return { workerId, endpointId, revision, state: this.state, ago, container };
  }
}

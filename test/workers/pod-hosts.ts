/** A Fleet object of its own, and hosts that do what its assignments say. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Inventory, PublishedPort } from "../../src/contract/agent/agent.ts";
import type { PodConfig } from "../../src/contract/pod.ts";
import type { PodChange, PodOutcome, PodView } from "../../src/fleet/messages.ts";

export const ACCOUNT = "account";
export const CARD = "NVIDIA GeForce RTX 4090";

export function podConfig(podId: string, settings: Partial<PodConfig> = {}): PodConfig {
  return {
    podId,
    accountId: ACCOUNT,
    name: podId,
    version: 1,
    gpuModels: [CARD],
    gpuCount: 1,
    locations: [],
    containerDiskInGb: 10,
    minMemoryMb: 0,
    minCpuMilli: 0,
    volumeInGb: 0,
    needsPublicAddress: false,
    isInterruptible: false,
    bidPerGpu: 0,
    stopAt: null,
    terminateAt: null,
    ...settings,
  };
}

export function inventoryOf(gpuCount: number, more: Partial<Inventory> = {}): Inventory {
  const gpu = { name: CARD, tier: "ADA_24", memoryMb: 24_000, isSimulated: false };
  return {
    gpus: Array.from({ length: gpuCount }, (_, index) => ({ ...gpu, index })),
    cpuCount: 16,
    memoryMb: 64_000,
    diskFreeMb: 200_000,
    runtime: "docker",
    canRunPods: true,
    ...more,
  };
}

/** Pods of one account in a Fleet of their own. */
const STARTED = { pullStartedAt: null, pullEndedAt: null, containerStartedAt: 1, readyAt: 1 };

export class PodFleet {
  readonly object = env.FLEET.getByName(crypto.randomUUID());

  async create(podId: string, settings: Partial<PodConfig> = {}): Promise<PodOutcome> {
    return this.object.createPod(podConfig(podId, settings));
  }

  async change(podId: string, change: PodChange): Promise<PodOutcome> {
    return this.object.changePod({ podId, accountId: ACCOUNT, change });
  }

  async view(podId: string): Promise<PodView | undefined> {
    const [view] = await this.object.podsOf(ACCOUNT, [podId]);
    return view;
  }

  /** Where the pod runs and on which GPUs; `running` and `stopped` for one that has no container. */
  async whereabouts(podId: string): Promise<string | undefined> {
    const view = await this.view(podId);
    return view && (view.worker ? `${view.worker.hostId} ${view.worker.state}` : view.desired);
  }

  async host(hostId: string, inventory: Inventory = inventoryOf(2)): Promise<PodHost> {
    const host = new PodHost(this, hostId, inventory);
    await host.sync();
    return host;
  }

  async fireAlarm(): Promise<boolean> {
    return runDurableObjectAlarm(this.object);
  }

  async alarm(): Promise<number | null> {
    return runInDurableObject(this.object, (_, { storage }) => storage.getAlarm());
  }
}

type Container = { readonly version: number; readonly gpuIndexes: readonly number[] };

export class PodHost {
  readonly hostId: string;
  inventory: Inventory;
  /** Containers that shall stop keep running until this is false. */
  holdsStops = false;
  /** Published ports of each container. */
  readonly ports = new Map<string, PublishedPort[]>();
  podVolumes: readonly string[] = [];
  readonly containers = new Map<string, Container>();
  readonly #fleet: PodFleet;
  #revision = 0;

  constructor(fleet: PodFleet, hostId: string, inventory: Inventory) {
    this.#fleet = fleet;
    this.hostId = hostId;
    this.inventory = inventory;
  }

  /** Its containers come up. */
  startsContainers = true;

  /** Says what runs, hears what shall run, does it and says so. */
  async sync(): Promise<void> {
    await this.#call();
    await this.#call();
  }

  async #call(): Promise<void> {
    const { hostId, inventory } = this;
    const reply = await this.#fleet.object.sync({
      hostId,
      accountId: ACCOUNT,
      name: hostId,
      agentVersion: "test",
      inventory,
      workers: [...this.containers].map(([workerId, { version: revision }]) => ({
        workerId,
        endpointId: workerId,
        revision,
        state: "ready" as const,
        start: this.startsContainers ? STARTED : null,
        container: { ports: this.ports.get(workerId) ?? [], cpuPercent: 50 },
      })),
      appliedRevision: this.#revision,
      holdMs: 0,
    });
    if (reply.kind !== "assignments") throw new Error(`The host got ${reply.kind}.`);
    this.#revision = reply.revision;
    this.podVolumes = reply.podVolumes;
    const assigned = new Map(reply.workers.map((worker) => [worker.workerId, worker]));
    for (const workerId of this.containers.keys()) {
      if (!assigned.has(workerId) && !this.holdsStops) this.containers.delete(workerId);
    }
    for (const [workerId, { version, gpuIndexes }] of assigned) {
      if (!this.holdsStops || !this.containers.has(workerId))
        this.containers.set(workerId, { version, gpuIndexes });
    }
  }
}

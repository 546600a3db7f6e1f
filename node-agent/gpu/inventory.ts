import { statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { dirname, resolve } from "node:path";
import type { Gpu, Inventory } from "../../src/contract/agent/agent.ts";
import { readCudaVersion, readGpus } from "./nvidia-smi.ts";
import type { Volumes } from "../disk/volumes.ts";
import { GPU_TIER_NAMES, GPU_TIERS } from "../../src/catalog/gpu-cards.ts";

const MEGABYTE = 1024 * 1024;

/** Memory of the host that is not available to workers. */
const RESERVED_SHARE = 0.05;
const RESERVED_MIN_MB = 512;
const RESERVED_MAX_MB = 8_192;

/** Enough for any template, so that an endpoint for large GPUs runs on a laptop with little free disk. */
const SIMULATED_DISK_MB = 10_000_000;

export type InventoryRequest = {
  readonly runtimeKind: Inventory["runtime"];
  readonly simulateGpus: boolean;
  /** How many simulated GPUs of each tier there are. */
  readonly simulatedPerTier?: number | undefined;
  /** The inventory has the free space of its file system. */
  readonly diskDirectory: string;
  readonly dataCenterId?: string | undefined;
  readonly volumes?: Volumes;
  /** Address at which clients reach published ports of pods. */
  readonly publicAddress?: string | undefined;
  /** What it offers to pods of clusters at this moment. */
  readonly clusters?: () => Pick<Inventory, "canJoinClusters" | "clusterAddress">;
};

/** What this host offers at this moment. */
export async function readInventory(request: InventoryRequest): Promise<Inventory> {
  const cudaVersion = request.simulateGpus ? undefined : await readCudaVersion();
  const networkVolumeIds = await request.volumes?.offered();
  return {
    gpus: [...(request.simulateGpus ? simulatedGpus(request.simulatedPerTier) : await realGpus())],
    cpuCount: availableParallelism(),
    memoryMb: memoryForWorkersMb(Math.floor(totalmem() / MEGABYTE)),
    diskFreeMb: isMadeUp(request) ? SIMULATED_DISK_MB : await diskFreeMb(request.diskDirectory),
    runtime: request.runtimeKind,
    canFreeze: true,
    canRunPods: true,
    ...(request.dataCenterId !== undefined && { dataCenterId: request.dataCenterId }),
    ...(cudaVersion !== undefined && { cudaVersion }),
    ...(request.publicAddress !== undefined && { publicAddress: request.publicAddress }),
    ...(networkVolumeIds !== undefined && { networkVolumeIds }),
    ...request.clusters?.(),
  };
}

/** Plain processes pull no image, and simulated GPUs need no model files. */
function isMadeUp({ runtimeKind, simulateGpus }: InventoryRequest): boolean {
  return simulateGpus && runtimeKind === "process";
}

/** Leaves memory for the system, Docker and the agent when all workers use up theirs. */
export function memoryForWorkersMb(totalMb: number): number {
  const reserved = Math.min(Math.max(totalMb * RESERVED_SHARE, RESERVED_MIN_MB), RESERVED_MAX_MB);
  return Math.max(0, Math.floor(totalMb - reserved));
}

async function realGpus(): Promise<readonly Gpu[]> {
  const reading = await readGpus();
  return reading.kind === "found" ? reading.gpus : [];
}

/** Free space where a directory is or will be. */
async function diskFreeMb(directory: string): Promise<number> {
  const path = resolve(directory);
  try {
    const { bavail, bsize } = await statfs(path);
    return Math.floor((bavail * bsize) / MEGABYTE);
  } catch (error) {
    if (dirname(path) === path) throw error;
    return diskFreeMb(dirname(path));
  }
}

const SIMULATED_GPUS_PER_TIER = 4;

/** GPUs of every tier for a machine that has none, so that endpoints written for real ones run on it. */
export function simulatedGpus(perTier = SIMULATED_GPUS_PER_TIER): readonly Gpu[] {
  const tiers = GPU_TIER_NAMES.flatMap((tier) => Array.from({ length: perTier }, () => tier));
  return tiers.map((tier, index) => ({
    index,
    name: GPU_TIERS[tier].models[0],
    tier,
    memoryMb: GPU_TIERS[tier].memoryGb * 1024,
    isSimulated: true,
  }));
}

const REFRESH_MS = 60_000;

/** The inventory of this host, read once a minute. */
export class InventoryWatch {
  #current: Inventory;
  readonly #timer: NodeJS.Timeout;

  constructor(first: Inventory, read: () => Promise<Inventory>) {
    this.#current = first;
    this.#timer = setInterval(() => {
      // After a failed reading the previous one stays in force.
      read().then(
        (inventory) => (this.#current = inventory),
        () => {},
      );
    }, REFRESH_MS);
    this.#timer.unref();
  }

  current(): Inventory {
    return this.#current;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

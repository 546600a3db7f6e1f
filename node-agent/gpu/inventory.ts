import { statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { dirname, resolve } from "node:path";
import type { Gpu, Inventory } from "../../src/contract/agent/agent.ts";
import { readCudaVersion } from "./cuda-version.ts";
import { type GpuReading, readGpus } from "./nvidia-smi.ts";
import type { Volumes } from "../volumes/volumes.ts";
import { SIMULATED_GPUS_PER_TIER, simulatedGpus } from "./simulated-gpus.ts";

const MEGABYTE = 1024 * 1024;

/** Memory of the host that no worker is given. */
const RESERVED_SHARE = 0.05;
const RESERVED_MIN_MB = 512;
const RESERVED_MAX_MB = 8_192;

/** Enough for any template; an endpoint for large GPUs is to run on a laptop with little room. */
const SIMULATED_DISK_MB = 10_000_000;

export type InventoryRequest = {
  readonly runtimeKind: Inventory["runtime"];
  readonly simulateGpus: boolean;
  readonly simulatedPerTier?: number | undefined;
  /** Its file system is the one whose free space is told. */
  readonly diskDirectory: string;
  readonly dataCenterId?: string | undefined;
  readonly volumes?: Volumes;
  /** Hears why GPUs could not be read; the inventory then has none. */
  readonly onError?: (detail: string) => void;
};

/** What this host has to offer at this moment. */
export async function readInventory(request: InventoryRequest): Promise<Inventory> {
  const cudaVersion = request.simulateGpus ? undefined : await readCudaVersion();
  const networkVolumeIds = await request.volumes?.offered();
  return {
    gpus: [...(request.simulateGpus ? simulated(request) : realGpus(await readGpus(), request.onError))],
    cpuCount: availableParallelism(),
    memoryMb: memoryForWorkersMb(Math.floor(totalmem() / MEGABYTE)),
    diskFreeMb: isMadeUp(request) ? SIMULATED_DISK_MB : await diskFreeMb(request.diskDirectory),
    runtime: request.runtimeKind,
    canFreeze: true,
    ...(request.dataCenterId !== undefined && { dataCenterId: request.dataCenterId }),
    ...(cudaVersion !== undefined && { cudaVersion }),
    ...(networkVolumeIds !== undefined && { networkVolumeIds }),
  };
}

/** Plain processes bring no image and fill no disk of their own, and what their GPUs would need is not there either. */
function isMadeUp({ runtimeKind, simulateGpus }: InventoryRequest): boolean {
  return simulateGpus && runtimeKind === "process";
}

/** The system, Docker and the agent go on when all workers have used up what is theirs. */
export function memoryForWorkersMb(totalMb: number): number {
  const reserved = Math.min(Math.max(totalMb * RESERVED_SHARE, RESERVED_MIN_MB), RESERVED_MAX_MB);
  return Math.max(0, Math.floor(totalMb - reserved));
}

function realGpus(reading: GpuReading, onError: InventoryRequest["onError"]): readonly Gpu[] {
  if (reading.kind === "found") return reading.gpus;
  if (reading.kind === "failed") onError?.(reading.detail);
  return [];
}

function simulated({ simulatedPerTier = SIMULATED_GPUS_PER_TIER }: InventoryRequest): readonly Gpu[] {
  return simulatedGpus(simulatedPerTier);
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

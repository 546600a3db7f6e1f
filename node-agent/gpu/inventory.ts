import { statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { dirname, resolve } from "node:path";
import type { Gpu, Inventory } from "../../src/contract/agent.ts";
import { type GpuReading, readGpus } from "./nvidia-smi.ts";
import { simulatedGpus } from "./simulated-gpus.ts";

const MEGABYTE = 1024 * 1024;

export type InventoryRequest = {
  readonly runtimeKind: Inventory["runtime"];
  readonly simulateGpus: boolean;
  /** Its file system is the one whose free space is told. */
  readonly diskDirectory: string;
  readonly dataCenterId?: string | undefined;
  /** Hears why GPUs could not be read; the inventory then has none. */
  readonly onFault?: (detail: string) => void;
};

/** What this host has to offer at this moment. */
export async function readInventory(request: InventoryRequest): Promise<Inventory> {
  return {
    gpus: [...(request.simulateGpus ? simulatedGpus() : realGpus(await readGpus(), request.onFault))],
    cpuCount: availableParallelism(),
    memoryMb: Math.floor(totalmem() / MEGABYTE),
    diskFreeMb: await diskFreeMb(request.diskDirectory),
    runtime: request.runtimeKind,
    canFreeze: true,
    ...(request.dataCenterId !== undefined && { dataCenterId: request.dataCenterId }),
  };
}

function realGpus(reading: GpuReading, onFault: InventoryRequest["onFault"]): readonly Gpu[] {
  if (reading.kind === "found") return reading.gpus;
  if (reading.kind === "failed") onFault?.(reading.detail);
  return [];
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

/** The capacity of a host, and what of it is free. */
import type { Gpu } from "../../contract/agent/agent.ts";
import { findDataCenter, resolveDataCenter } from "../../catalog/data-centers.ts";
import { HOST_WORKERS_MAX, POD_VOLUMES_MAX } from "../../contract/agent/agent.ts";
import { GpuUse } from "./gpu-memory.ts";

/** What a worker takes of its host beside the choice of GPUs. */
export type Size = {
  /** Thousandths of a vCPU. */
  readonly cpuMilli: number;
  readonly memoryMb: number;
  readonly diskMb: number;
  /** MiB of each of its GPUs, which it shares; absent: it has them to itself. */
  readonly gpuMemoryMb?: number | undefined;
};

export type Allocation = {
  readonly gpuIndexes: readonly number[];
  /** Null for workers stored before sizes were. */
  readonly size: Size | null;
  /** Since when it is on standby and takes nothing; null or absent for one that runs. */
  readonly standbyAt?: number | null | undefined;
};

export type CandidateHost = {
  readonly hostId: string;
  /** For messages. */
  readonly name: string;
  readonly gpus: readonly Gpu[];
  readonly cpuCount: number;
  readonly memoryMb: number;
  /** Free disk when the host had no workers. */
  readonly diskMb: number;
  /** Free disk as it was last measured. */
  readonly diskFreeMb: number;
  readonly dataCenterId?: string | undefined;
  readonly cudaVersion?: string | undefined;
  readonly networkVolumeIds?: readonly string[] | undefined;
  readonly canRunPods?: boolean | undefined;
  /** Clients reach published ports of pods. */
  readonly hasPublicAddress?: boolean | undefined;
  /** Pods of a cluster reach each other on it, and nobody else does. */
  readonly canJoinClusters?: boolean | undefined;
  /** Other hosts reach such pods. */
  readonly hasClusterAddress?: boolean | undefined;
  /** Volumes of pods on the host, whether these run or not. */
  readonly podVolumes?: { readonly count: number; readonly diskMb: number } | undefined;
  readonly isCordoned: boolean;
  readonly isDrained: boolean;
};

/** Which GPUs a worker asks for; `gpuMemoryMb`: what it declares of each, absent for GPUs of its own. */
export type GpuRequest = {
  readonly tier: string;
  readonly model?: string;
  readonly gpuMemoryMb?: number | undefined;
};

/** A host that simulates GPUs stands for machines that do not exist, so it fits any request. */
const SIMULATED: Size = { cpuMilli: 4_096_000, memoryMb: 100_000_000, diskMb: 1_000_000_000 };

export class HostCapacity {
  readonly host: CandidateHost;
  readonly isSimulated: boolean;
  /** All that workers may take. */
  readonly total: Size;
  #gpuUse = new GpuUse();
  /** What standby workers had of GPUs. */
  #standbyUse = new GpuUse();
  readonly #taken = { cpuMilli: 0, memoryMb: 0, diskMb: 0 };
  #workers = 0;

  constructor(host: CandidateHost, workers: readonly Allocation[]) {
    this.host = host;
    this.isSimulated = host.gpus.some((gpu) => gpu.isSimulated);
    this.total = this.isSimulated
      ? SIMULATED
      : { cpuMilli: host.cpuCount * 1_000, memoryMb: host.memoryMb, diskMb: host.diskMb };
    for (const { gpuIndexes, size, standbyAt = null } of workers) {
      if (standbyAt !== null) this.#standbyUse.take(gpuIndexes, size ?? {});
      else this.allocate(gpuIndexes, size ?? { ...this.shareOf(gpuIndexes.length), diskMb: 0 });
    }
    this.#workers = workers.length;
  }

  allocate(gpuIndexes: readonly number[], size: Size): void {
    this.#gpuUse.take(gpuIndexes, size);
    this.#taken.cpuMilli += size.cpuMilli;
    this.#taken.memoryMb += size.memoryMb;
    this.#taken.diskMb += size.diskMb;
    this.#workers += 1;
  }

  /** The same, to try out what else would fit. */
  copy(): HostCapacity {
    const copy = new HostCapacity(this.host, []);
    copy.#gpuUse = new GpuUse(this.#gpuUse);
    copy.#standbyUse = new GpuUse(this.#standbyUse);
    copy.allocate([], this.#taken);
    copy.#workers = this.#workers;
    return copy;
  }

  /** At the limit of workers, whatever else is free. */
  get isFull(): boolean {
    return this.#workers >= HOST_WORKERS_MAX;
  }

  get isFullOfVolumes(): boolean {
    return (this.host.podVolumes?.count ?? 0) >= POD_VOLUMES_MAX;
  }

  get free(): Size {
    const { cpuMilli, memoryMb, diskMb } = this.total;
    const promised = diskMb - this.#taken.diskMb - (this.host.podVolumes?.diskMb ?? 0);
    return {
      cpuMilli: cpuMilli - this.#taken.cpuMilli,
      memoryMb: memoryMb - this.#taken.memoryMb,
      // Workers may not have used their disk yet, and other programs may have used some.
      diskMb: this.isSimulated ? promised : Math.min(promised, this.host.diskFreeMb),
    };
  }

  /**
   * GPUs that such a worker may have, whether they are free or not, those first that it would take first: where it evicts
   * no standby worker, and of those that are shared the fullest (M3). A simulated GPU stands for any model of its tier.
   */
  gpusOf({ tier, model, gpuMemoryMb }: GpuRequest, excludedModels: readonly string[]): readonly Gpu[] {
    const gpus = this.host.gpus
      .filter((gpu) => gpu.tier === tier && !excludedModels.includes(gpu.name))
      .filter((gpu) => model === undefined || gpu.name === model || gpu.isSimulated)
      .filter((gpu) => gpu.migUuid === undefined || gpuMemoryMb !== undefined);
    if (gpuMemoryMb === undefined && this.#standbyUse.isEmpty) return gpus;
    const evicts = ({ index }: Gpu) => Number(this.wouldEvict([index], { gpuMemoryMb }));
    const left = (gpu: Gpu) => (gpuMemoryMb === undefined ? 0 : this.freeGpuMemoryOf(gpu));
    return gpus.toSorted((a, b) => evicts(a) - evicts(b) || left(a) - left(b));
  }

  isFree(gpu: Pick<Gpu, "index">): boolean {
    return this.#gpuUse.isFree(gpu);
  }

  /** Whether a worker that takes this of it fits on the GPU. */
  fitsOn(gpu: Gpu, size: Pick<Size, "gpuMemoryMb">): boolean {
    return this.#gpuUse.fitsOn(gpu, size);
  }

  /** MiB that workers may declare of it; below 0 where one has it to itself. */
  freeGpuMemoryOf({ index, memoryMb }: Gpu): number {
    return memoryMb - this.#gpuUse.takenMbOf(index);
  }

  /** A copy of what workers that run have of the GPUs. */
  get gpuUse(): GpuUse {
    return new GpuUse(this.#gpuUse);
  }

  /** Whether taking this of these GPUs would evict a standby worker. */
  wouldEvict(gpuIndexes: readonly number[], { gpuMemoryMb }: Pick<Size, "gpuMemoryMb">): boolean {
    if (this.#standbyUse.isEmpty) return false;
    return gpuIndexes.some((index) => {
      const standbyMb = this.#standbyUse.takenMbOf(index);
      if (standbyMb === 0) return false;
      const takenMb = this.#gpuUse.takenMbOf(index) + standbyMb + (gpuMemoryMb ?? Infinity);
      return takenMb > (this.gpu(index)?.memoryMb ?? 0);
    });
  }

  gpu(index: number): Gpu | undefined {
    return this.host.gpus.find((gpu) => gpu.index === index);
  }

  /** Whether a standby worker can run again on its own GPUs. */
  canReclaim(gpuIndexes: readonly number[], size: Size): boolean {
    const { isCordoned, isDrained } = this.host;
    const hasGpus = gpuIndexes.every((index) => {
      const gpu = this.gpu(index);
      return gpu !== undefined && this.fitsOn(gpu, size);
    });
    const { cpuMilli, memoryMb, diskMb } = this.free;
    const fits = size.cpuMilli <= cpuMilli && size.memoryMb <= memoryMb && size.diskMb <= diskMb;
    return !isCordoned && !isDrained && hasGpus && fits;
  }

  /** The share of vCPUs and memory that goes with this many GPUs. */
  shareOf(gpuCount: number): Omit<Size, "diskMb"> {
    const share = this.host.gpus.length === 0 ? 0 : gpuCount / this.host.gpus.length;
    const { cpuCount, memoryMb } = this.host;
    // Rounded down, so that all GPUs together never ask for more than there is.
    return { cpuMilli: Math.floor(cpuCount * 1_000 * share), memoryMb: Math.floor(memoryMb * share) };
  }

  /** Whether the host is in one of these countries or data centers; an empty list means anywhere. */
  isIn(locations: readonly string[]): boolean {
    if (locations.length === 0 || this.isAnywhere) return true;
    const id = this.dataCenterId;
    return locations.includes(id) || locations.includes(this.countryCode);
  }

  get dataCenterId(): string {
    return resolveDataCenter(this.host.dataCenterId);
  }

  get countryCode(): string {
    return findDataCenter(this.dataCenterId)?.countryCode ?? "";
  }

  /** Simulated GPUs are in any location, unless their host names one. */
  get isAnywhere(): boolean {
    return this.isSimulated && this.host.dataCenterId === undefined;
  }
}

export type WorkerLimits = Pick<Size, "cpuMilli" | "memoryMb">;

/**
 * What a worker may use of its host: what Fleet has allocated to it. Undefined (no limit) for workers with simulated
 * GPUs, whose share of the host means nothing, and for workers that requested no size.
 */
export function limitsOf(
  { gpuIndexes, size }: { readonly gpuIndexes: readonly number[]; readonly size: Size | null },
  hostGpus: readonly Gpu[],
): WorkerLimits | undefined {
  if (size === null || size.memoryMb === 0) return undefined;
  if (gpuIndexes.length > 0 && hostGpus.some((gpu) => gpu.isSimulated)) return undefined;
  const { cpuMilli, memoryMb } = size;
  return { cpuMilli, memoryMb };
}

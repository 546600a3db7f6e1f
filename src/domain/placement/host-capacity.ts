/** What a host has, and how much of it its workers leave free. */
import type { Gpu } from "../../contract/agent/agent.ts";
import { findDataCenter } from "../../catalog/data-centers.ts";
import { resolveDataCenter } from "./stock.ts";
import { HOST_WORKERS_MAX } from "../../contract/agent/agent.ts";

/** What a worker takes of its host beside GPUs. */
export type Size = {
  /** Thousandths of a vCPU. */
  readonly cpuMilli: number;
  readonly memoryMb: number;
  readonly diskMb: number;
};

export type Allocation = {
  readonly gpuIndexes: readonly number[];
  /** Null for workers of before, whose size nobody noted. */
  readonly size: Size | null;
  /** Since when it is on standby, and takes nothing; null or absent for one that runs. */
  readonly standbyAt?: number | null | undefined;
};

export type CandidateHost = {
  readonly hostId: string;
  /** For people. */
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
  readonly isCordoned: boolean;
  readonly isDrained: boolean;
};

/** A host that simulates GPUs stands for machines that are not there, so it is as large as anybody asks for. */
const SIMULATED: Size = { cpuMilli: 4_096_000, memoryMb: 100_000_000, diskMb: 1_000_000_000 };

export class HostCapacity {
  readonly host: CandidateHost;
  readonly isSimulated: boolean;
  /** All that workers may have. */
  readonly total: Size;
  readonly #takenGpus = new Set<number>();
  /** GPUs on which a standby worker was. */
  readonly #standbyGpus = new Set<number>();
  readonly #taken = { cpuMilli: 0, memoryMb: 0, diskMb: 0 };
  #workers = 0;

  constructor(host: CandidateHost, workers: readonly Allocation[]) {
    this.host = host;
    this.isSimulated = host.gpus.some((gpu) => gpu.isSimulated);
    this.total = this.isSimulated
      ? SIMULATED
      : { cpuMilli: host.cpuCount * 1_000, memoryMb: host.memoryMb, diskMb: host.diskMb };
    for (const { gpuIndexes, size, standbyAt = null } of workers) {
      if (standbyAt !== null) for (const index of gpuIndexes) this.#standbyGpus.add(index);
      else this.allocate(gpuIndexes, size ?? { ...this.shareOf(gpuIndexes.length), diskMb: 0 });
    }
    this.#workers = workers.length;
  }

  allocate(gpuIndexes: readonly number[], size: Size): void {
    for (const index of gpuIndexes) this.#takenGpus.add(index);
    this.#taken.cpuMilli += size.cpuMilli;
    this.#taken.memoryMb += size.memoryMb;
    this.#taken.diskMb += size.diskMb;
    this.#workers += 1;
  }

  /** However much is free: a host says itself how much that is. */
  get isFull(): boolean {
    return this.#workers >= HOST_WORKERS_MAX;
  }

  get free(): Size {
    const { cpuMilli, memoryMb, diskMb } = this.total;
    const promised = diskMb - this.#taken.diskMb;
    return {
      cpuMilli: cpuMilli - this.#taken.cpuMilli,
      memoryMb: memoryMb - this.#taken.memoryMb,
      // Workers need not have written yet what is promised to them, and others may have written.
      diskMb: this.isSimulated ? promised : Math.min(promised, this.host.diskFreeMb),
    };
  }

  /** Those on which no standby worker was come first. */
  gpusOf(tier: string, excludedModels: readonly string[]): readonly Gpu[] {
    const gpus = this.host.gpus.filter((gpu) => gpu.tier === tier && !excludedModels.includes(gpu.name));
    if (this.#standbyGpus.size === 0) return gpus;
    return gpus.toSorted(
      (a, b) => Number(this.#standbyGpus.has(a.index)) - Number(this.#standbyGpus.has(b.index)),
    );
  }

  isFree(gpu: Pick<Gpu, "index">): boolean {
    return !this.#takenGpus.has(gpu.index);
  }

  /** A standby worker would have to go for whoever gets these. */
  wouldEvict(gpuIndexes: readonly number[]): boolean {
    return this.#standbyGpus.size > 0 && gpuIndexes.some((index) => this.#standbyGpus.has(index));
  }

  /** Whether a worker that was here before has room on its own GPUs. */
  canReclaim(gpuIndexes: readonly number[], size: Size): boolean {
    const { isCordoned, isDrained, gpus } = this.host;
    const present = new Set(gpus.map(({ index }) => index));
    const hasGpus = gpuIndexes.every((index) => present.has(index) && !this.#takenGpus.has(index));
    const { cpuMilli, memoryMb, diskMb } = this.free;
    const fits = size.cpuMilli <= cpuMilli && size.memoryMb <= memoryMb && size.diskMb <= diskMb;
    return !isCordoned && !isDrained && hasGpus && fits;
  }

  /** What goes with so many of the host's GPUs: as much of all else. */
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

  /** Simulated GPUs are where somebody wants them, unless their host says where it is. */
  get isAnywhere(): boolean {
    return this.isSimulated && this.host.dataCenterId === undefined;
  }
}

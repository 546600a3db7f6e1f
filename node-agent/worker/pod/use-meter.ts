/** How much of its CPUs and memory the container of a pod uses, read again and again while it runs. */
import { availableParallelism, totalmem } from "node:os";
import type { PodReport } from "../../../src/contract/agent/agent.ts";
import type { ContainerUse, WorkerLimits } from "../../runtime/interface/runtime.ts";

export type PodUse = Pick<PodReport, "cpuPercent" | "memoryPercent">;

export type UseMeterOptions = {
  readonly intervalMs: number;
  /** Null where it cannot be read now. */
  readonly read: () => Promise<ContainerUse | null>;
  /** Undefined where the container may use all of its host. */
  readonly limits: () => WorkerLimits | undefined;
};

const BYTES_PER_MB = 2 ** 20;

export class UseMeter {
  readonly #options: UseMeterOptions;
  #timer: NodeJS.Timeout | undefined;
  #last: ContainerUse | null = null;
  #use: PodUse = {};
  #isReading = false;

  constructor(options: UseMeterOptions) {
    this.#options = options;
  }

  /** Empty until it is known. */
  get use(): PodUse {
    return this.#use;
  }

  /** No-op for one that has started. */
  start(): void {
    if (this.#timer) return;
    this.#timer = setInterval(() => void this.#read(), this.#options.intervalMs);
    this.#timer.unref();
    void this.#read();
  }

  /** Forgets what it has read, which is of a container that has ended. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#last = null;
    this.#use = {};
  }

  /** One reading at a time: a runtime in trouble answers late. */
  async #read(): Promise<void> {
    const { read, limits } = this.#options;
    const timer = this.#timer;
    if (this.#isReading) return;
    this.#isReading = true;
    const next = await read().catch(() => null);
    this.#isReading = false;
    if (timer !== this.#timer) return;
    this.#use = next === null ? {} : useBetween(this.#last, next, capacityOf(limits()));
    this.#last = next;
  }
}

function capacityOf(limits: WorkerLimits | undefined): WorkerLimits {
  const cpuMilli = availableParallelism() * 1_000;
  const memoryMb = Math.floor(totalmem() / BYTES_PER_MB);
  return {
    cpuMilli: Math.min(limits?.cpuMilli || cpuMilli, cpuMilli),
    memoryMb: limits?.memoryMb || memoryMb,
  };
}

/**
 * Percent of what a container may use, to a tenth. More than 100 % of the CPUs where it has a share of them only, and
 * none where there is nothing to compare with.
 */
export function useBetween(
  before: ContainerUse | null,
  after: ContainerUse,
  { cpuMilli, memoryMb }: WorkerLimits,
): PodUse {
  const memoryPercent = percent(after.memoryBytes / BYTES_PER_MB, memoryMb);
  const elapsedMs = before === null ? 0 : after.at - before.at;
  const usedMs = before === null ? -1 : after.cpuMs - before.cpuMs;
  if (elapsedMs <= 0 || usedMs < 0) return { memoryPercent };
  return { cpuPercent: percent(usedMs * 1_000, elapsedMs * cpuMilli), memoryPercent };
}

function percent(part: number, whole: number): number {
  return Math.round((1_000 * part) / whole) / 10;
}

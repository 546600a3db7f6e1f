/**
 * Standby: a worker that was scaled down, but whose container is kept frozen for a fast start.
 *
 * S1  It takes no capacity: a worker that is placed takes it, and the standby worker is evicted if it is in the way.
 * S2  It is revived for its endpoint and its version only, and only where its own GPUs are free.
 * S3  An endpoint has at most workersMax of them, a host a few, and none for longer than FLASHBOOT_RETENTION_MS, but for
 *     those that it is to have prepared at all times.
 */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { HostCapacity, Allocation, Size } from "./host-capacity.ts";

/** How long the container of a removed worker is kept frozen: for pauses during a day, not for nights. */
export const FLASHBOOT_RETENTION_MS = 30 * 60_000;
/** Frozen containers of one host, which hold its memory. */
export const FLASHBOOT_PER_HOST_MAX = 8;

export type StandbyWorker = Allocation & {
  readonly workerId: string;
  readonly version: number;
  /** Since when it is on standby. */
  readonly standbyAt: number;
  /** Its host gets no new workers. */
  readonly isClosed: boolean;
};

type StandbyConfig = Pick<EndpointConfig, "version" | "workersMax" | "flashBootType" | "workersPfbTarget">;

/** Whether workers of the endpoint go on standby when they are scaled down. */
export function hasFlashBoot({ flashBootType }: Pick<EndpointConfig, "flashBootType">): boolean {
  return flashBootType === "FLASHBOOT" || flashBootType === "PRIORITY_FLASHBOOT";
}

/** How many workers an endpoint is to have at all times, on standby or running. */
export function preparedBy({
  workersPfbTarget = 0,
  workersMax,
}: Pick<EndpointConfig, "workersPfbTarget" | "workersMax">): number {
  return Math.min(workersPfbTarget, workersMax);
}

/** The standby workers of an endpoint that it keeps; `config` is undefined once it is deleted. */
export function retainedByEndpoint<Worker extends StandbyWorker>(
  workers: readonly Worker[],
  config: StandbyConfig | undefined,
  now: number,
): readonly Worker[] {
  if (!config || !hasFlashBoot(config)) return [];
  return workers
    .filter(({ version, isClosed }) => version === config.version && !isClosed)
    .toSorted(latestFirst)
    .filter(({ standbyAt }, index) => index < preparedBy(config) || now < standbyAt + FLASHBOOT_RETENTION_MS)
    .slice(0, config.workersMax);
}

/** Those that will expire, of the standby workers of one endpoint. */
export function expiringOf<Worker extends { readonly standbyAt: number | null; readonly workerId: string }>(
  workers: readonly Worker[],
  config: StandbyConfig | undefined,
): readonly Worker[] {
  if (!config?.workersPfbTarget) return workers;
  return workers
    .toSorted((a, b) => (b.standbyAt ?? 0) - (a.standbyAt ?? 0) || (a.workerId < b.workerId ? -1 : 1))
    .slice(preparedBy(config));
}

/** The standby workers of a host for which capacity is left: those that ran last. */
export function retainedByHost<Worker extends StandbyWorker>(
  capacity: HostCapacity,
  workers: readonly Worker[],
): readonly Worker[] {
  const { gpuUse } = capacity;
  let { memoryMb, diskMb } = capacity.free;
  const retained: Worker[] = [];
  for (const worker of workers.toSorted(latestFirst)) {
    const { gpuIndexes } = worker;
    const size = worker.size ?? UNKNOWN_SIZE;
    const hasGpus = gpuIndexes.every((index) =>
      gpuUse.fitsOn({ index, memoryMb: capacity.gpu(index)?.memoryMb ?? 0 }, size),
    );
    if (!hasGpus || size.memoryMb > memoryMb || size.diskMb > diskMb) continue;
    gpuUse.take(gpuIndexes, size);
    memoryMb -= size.memoryMb;
    diskMb -= size.diskMb;
    retained.push(worker);
  }
  return retained.slice(0, FLASHBOOT_PER_HOST_MAX);
}

const UNKNOWN_SIZE: Omit<Size, "cpuMilli"> = { memoryMb: 0, diskMb: 0 };

function latestFirst(a: StandbyWorker, b: StandbyWorker): number {
  return b.standbyAt - a.standbyAt || (a.workerId < b.workerId ? -1 : 1);
}

/**
 * Names one epoch of a worker, which ends when it goes on standby; a revival begins the next one. A scale-down names
 * the epoch that the endpoint knows. The first epoch has the id of the worker.
 */
export function epochOf({ workerId, revivals = 0 }: Revivable): string {
  return revivals === 0 ? workerId : `${workerId}/${revivals}`;
}

/** The worker of an epoch. */
export function workerOfEpoch(epoch: string): string {
  return epoch.split("/", 1)[0] ?? epoch;
}

/** The workers whose present epoch is among these; an unknown worker is taken to be in the named one. */
export function workersIn(epochs: readonly string[], workers: readonly Revivable[]): readonly string[] {
  const present = new Map(workers.map((worker) => [worker.workerId, epochOf(worker)]));
  return epochs.flatMap((epoch) => {
    const workerId = workerOfEpoch(epoch);
    return (present.get(workerId) ?? epoch) === epoch ? [workerId] : [];
  });
}

type Revivable = { readonly workerId: string; readonly revivals?: number | undefined };

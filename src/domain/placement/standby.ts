/**
 * Standby: a worker that was let go, but whose container is kept frozen, so that it can be revived in no time.
 *
 * S1  It takes nothing that a worker could have: whoever is placed takes its room, and it goes if it is in the way.
 * S2  It is revived for its endpoint and its release only, and only where its own GPUs are free.
 * S3  There are at most as many of an endpoint as it may have workers, a few on a host, and none for ever.
 */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { HostCapacity, Allocation } from "./host-capacity.ts";

/** How long the container of a removed worker is kept frozen: for pauses during a day, not for nights. */
export const FLASHBOOT_RETENTION_MS = 30 * 60_000;
/** Frozen containers of one host, which hold its memory. */
export const FLASHBOOT_PER_HOST_MAX = 8;

export type StandbyWorker = Allocation & {
  readonly workerId: string;
  readonly version: number;
  /** Since when it is one. */
  readonly standbyAt: number;
  /** Its host gets no new workers. */
  readonly isClosed: boolean;
};

type StandbyConfig = Pick<EndpointConfig, "version" | "workersMax" | "flashBootType">;

/** Whether workers that the endpoint lets go are kept. */
export function hasFlashBoot({ flashBootType }: Pick<EndpointConfig, "flashBootType">): boolean {
  return flashBootType === "FLASHBOOT" || flashBootType === "PRIORITY_FLASHBOOT";
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
    .filter(({ standbyAt }) => now < standbyAt + FLASHBOOT_RETENTION_MS)
    .toSorted(latestFirst)
    .slice(0, config.workersMax);
}

/** The standby workers of a host for which its other workers leave room: those that ran last. */
export function retainedByHost<Worker extends StandbyWorker>(
  capacity: HostCapacity,
  workers: readonly Worker[],
): readonly Worker[] {
  const taken = new Set<number>();
  let { memoryMb, diskMb } = capacity.free;
  const retained: Worker[] = [];
  for (const worker of workers.toSorted(latestFirst)) {
    const { gpuIndexes } = worker;
    const size = worker.size ?? UNKNOWN_SIZE;
    const hasGpus = gpuIndexes.every((index) => capacity.isFree({ index }) && !taken.has(index));
    if (!hasGpus || size.memoryMb > memoryMb || size.diskMb > diskMb) continue;
    for (const index of gpuIndexes) taken.add(index);
    memoryMb -= size.memoryMb;
    diskMb -= size.diskMb;
    retained.push(worker);
  }
  return retained.slice(0, FLASHBOOT_PER_HOST_MAX);
}

const UNKNOWN_SIZE = { memoryMb: 0, diskMb: 0 };

function latestFirst(a: StandbyWorker, b: StandbyWorker): number {
  return b.standbyAt - a.standbyAt || (a.workerId < b.workerId ? -1 : 1);
}

/**
 * Names one stint of a worker, which ends when it is let go and begins anew when it is revived: who lets a worker go
 * means the stint that it knows. The first one is named as the worker is.
 */
export function epochOf({ workerId, revivals = 0 }: Revivable): string {
  return revivals === 0 ? workerId : `${workerId}/${revivals}`;
}

/** Whose stint it is. */
export function workerOfEpoch(epoch: string): string {
  return epoch.split("/", 1)[0] ?? epoch;
}

/** The workers whose present stint is among these; one that is not known can only be in the one that was named. */
export function workersIn(epochs: readonly string[], workers: readonly Revivable[]): readonly string[] {
  const present = new Map(workers.map((worker) => [worker.workerId, epochOf(worker)]));
  return epochs.flatMap((epoch) => {
    const workerId = workerOfEpoch(epoch);
    return (present.get(workerId) ?? epoch) === epoch ? [workerId] : [];
  });
}

type Revivable = { readonly workerId: string; readonly revivals?: number | undefined };

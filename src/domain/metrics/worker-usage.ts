/** How long workers existed, hour by hour: from their placement until their capacity was free again. */

/** Stands for the model where it is no GPU: the vCPUs of a worker without GPUs. */
export const VCPU = "vCPU";

/** GPUs of one model that a worker has, or its vCPUs. */
export type UsedGpus = { readonly model: string; readonly tier: string | null; readonly count: number };

/** The life of a worker; `to` is the present for one that is still there. */
export type WorkerLifetime = {
  readonly endpointId: string;
  readonly accountId: string;
  readonly gpus: readonly UsedGpus[];
  readonly from: number;
  readonly to: number;
};

export type GpuTime = { readonly model: string; readonly tier: string | null; readonly ms: number };

/** All workers of an endpoint in one hour. */
export type WorkerHour = {
  readonly endpointId: string;
  readonly accountId: string;
  /** Its beginning, in ms. */
  readonly hour: number;
  readonly workerMs: number;
  /** Each GPU counts separately, as does each vCPU. */
  readonly gpus: readonly GpuTime[];
};

const HOUR_MS = 3_600_000;

/** The hours from `since` on, of which `until` is the end. */
export function workerHours(
  lifetimes: readonly WorkerLifetime[],
  since: number,
  until: number,
): WorkerHour[] {
  const pieces = lifetimes.flatMap((lifetime) => piecesOf(lifetime, since, until));
  const groups = Map.groupBy(pieces, ({ endpointId, hour }) => `${endpointId} ${hour}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { endpointId, accountId, hour } = first;
    const workerMs = group.reduce((sum, piece) => sum + piece.workerMs, 0);
    return { endpointId, accountId, hour, workerMs, gpus: addGpuTimes(group.flatMap(({ gpus }) => gpus)) };
  });
}

/** The times of each model together, in the order of the models' names. */
export function addGpuTimes(times: readonly GpuTime[]): GpuTime[] {
  return [...Map.groupBy(times, ({ model }) => model)]
    .map(([model, group]) => {
      const ms = group.reduce((sum, time) => sum + time.ms, 0);
      return { model, tier: group[0]?.tier ?? null, ms };
    })
    .toSorted((a, b) => (a.model < b.model ? -1 : 1));
}

function piecesOf({ from, to, gpus, ...life }: WorkerLifetime, since: number, until: number): WorkerHour[] {
  const pieces: WorkerHour[] = [];
  const end = Math.min(to, until);
  for (let at = Math.max(from, since); at < end;) {
    const hour = Math.floor(at / HOUR_MS) * HOUR_MS;
    const workerMs = Math.min(end, hour + HOUR_MS) - at;
    const times = gpus.map(({ model, tier, count }) => ({ model, tier, ms: workerMs * count }));
    pieces.push({ ...life, hour, workerMs, gpus: times });
    at += workerMs;
  }
  return pieces;
}

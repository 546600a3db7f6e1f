/**
 * How long workers existed and what that cost, hour by hour: from their placement until their capacity was free again.
 */

/** Stands for the model where it is no GPU: the vCPUs of a worker without GPUs. */
export const VCPU = "vCPU";

/** GPUs of one model that a worker has, or its vCPUs. */
export type UsedGpus = { readonly model: string; readonly tier: string | null; readonly count: number };

/** The life of a worker at one price; `to` is the present for one that is still there. */
export type WorkerLifetime = {
  readonly endpointId: string;
  readonly accountId: string;
  /** Of the endpoint. */
  readonly version: number;
  readonly gpus: readonly UsedGpus[];
  readonly from: number;
  readonly to: number;
  /** When it was first ready; null for one that was not. */
  readonly readyAt: number | null;
  /** Dollars. */
  readonly perHour: number;
};

export type GpuTime = {
  readonly model: string;
  readonly tier: string | null;
  readonly ms: number;
  /** Dollars. Absent in totals of hours before prices of hosts were known. */
  readonly cost?: number;
};

export type GpuCost = GpuTime & { readonly cost: number };

/** Workers of one version of an endpoint. */
export type VersionTime = {
  readonly version: number;
  readonly workerMs: number;
  /** Until they were first ready. */
  readonly startingMs: number;
  /** Dollars. */
  readonly cost: number;
};

/** All workers of an endpoint in one hour. */
export type WorkerHour = {
  readonly endpointId: string;
  readonly accountId: string;
  /** Its beginning, in ms. */
  readonly hour: number;
  readonly workerMs: number;
  /** Each GPU counts separately, as does each vCPU. */
  readonly gpus: readonly GpuCost[];
  readonly versions: readonly VersionTime[];
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
    const gpus = addGpuTimes(group.flatMap((piece) => piece.gpus));
    const versions = addVersionTimes(group.flatMap((piece) => piece.versions));
    return { endpointId, accountId, hour, workerMs, gpus, versions };
  });
}

/** The times of each model together, in the order of the models' names. */
export function addGpuTimes(times: readonly GpuCost[]): GpuCost[] {
  return [...Map.groupBy(times, ({ model }) => model)]
    .map(([model, group]) => {
      const ms = group.reduce((sum, time) => sum + time.ms, 0);
      const cost = group.reduce((sum, time) => sum + time.cost, 0);
      return { model, tier: group[0]?.tier ?? null, ms, cost };
    })
    .toSorted((a, b) => (a.model < b.model ? -1 : 1));
}

/** The times of each version together, in the order of the versions. */
export function addVersionTimes(times: readonly VersionTime[]): VersionTime[] {
  return [...Map.groupBy(times, ({ version }) => version)]
    .map(([version, group]) => ({
      version,
      workerMs: group.reduce((sum, time) => sum + time.workerMs, 0),
      startingMs: group.reduce((sum, time) => sum + time.startingMs, 0),
      cost: group.reduce((sum, time) => sum + time.cost, 0),
    }))
    .toSorted((a, b) => a.version - b.version);
}

/** Dollars that a life costs between two moments. */
export function costWithin({ from, to, perHour }: WorkerLifetime, since: number, until: number): number {
  return (Math.max(0, Math.min(to, until) - Math.max(from, since)) / HOUR_MS) * perHour;
}

function piecesOf(life: WorkerLifetime, since: number, until: number): WorkerHour[] {
  const { endpointId, accountId, version, gpus, readyAt } = life;
  const pieces: WorkerHour[] = [];
  const count = gpus.reduce((sum, used) => sum + used.count, 0);
  const end = Math.min(life.to, until);
  for (let at = Math.max(life.from, since); at < end;) {
    const hour = Math.floor(at / HOUR_MS) * HOUR_MS;
    const next = Math.min(end, hour + HOUR_MS);
    const workerMs = next - at;
    const cost = costWithin(life, at, next);
    const startingMs = Math.max(0, Math.min(readyAt ?? next, next) - at);
    pieces.push({
      ...{ endpointId, accountId, hour, workerMs },
      gpus: gpus.map((used) => ({
        model: used.model,
        tier: used.tier,
        ms: workerMs * used.count,
        cost: (cost * used.count) / count,
      })),
      versions: [{ version, workerMs, startingMs, cost }],
    });
    at = next;
  }
  return pieces;
}

/** An endpoint with a queue desires no more workers, and none earlier, than its scaler allows; and Fleet starts no others. */
import type { SimulatedObject } from "../runtime/objects.ts";
import type { JobChange } from "../runtime/storage.ts";
import type { World } from "../world/world.ts";
import { type Account, accountWith } from "./account.ts";
import { endpointOf, type OpenJobs, openJobs } from "./endpoint-rows.ts";
import type { DesiredRow } from "./fairness.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import { isLowPriority } from "./job-rows.ts";
import { stayingWorkers } from "./places.ts";
import type { HistoryPlan } from "./plan.ts";

export type GrowthParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly accounts: readonly Account[];
  readonly violate: (what: string) => void;
};

type Config = { readonly scalerType: string; readonly scalerValue: number; readonly workersMin: number };
/** `grownAt`: true time, ms of the history. */
type Seen = { readonly desired: number; readonly grownAt: number; readonly life: number };
/** `present`: the workers that the endpoint knows. */
type Growth = {
  readonly before: Seen;
  readonly desired: number;
  readonly config: Config;
  readonly present: number;
};

const DESIRED = "SELECT json ->> '$.desired' AS desired FROM fact WHERE name = 'desired_workers'";
const CONFIG = "SELECT json FROM fact WHERE name = 'config'";
const PRESENT = "SELECT json_array_length(json, '$.workers') AS present FROM fact WHERE name = 'report'";
/** A turn may have begun so long before what it wrote is seen. */
const EARLY_MS = 100;
const NOTHING: OpenJobs = { waiting: [], running: [] };

export class GrowthLimits {
  readonly #parts: GrowthParts;
  readonly #seen = new Map<string, Seen>();
  /** Of the last turn that wrote something: a job may have ended in the one that grew. */
  readonly #openBefore = new Map<string, OpenJobs>();
  /** When each job came, true time in ms of the history, by endpoint and number. */
  readonly #cameAt = new Map<string, number>();
  readonly #earlyMs: number;

  constructor(parts: GrowthParts) {
    this.#parts = parts;
    this.#earlyMs = EARLY_MS + 2 * (parts.plan.faults.get("clockSkew") ?? 0);
  }

  jobChanged(endpoint: string, { seq, before }: JobChange): void {
    if (before === null) this.#cameAt.set(`${endpoint} ${seq}`, this.#parts.world.elapsedMs);
  }

  /** The object of an endpoint has written something. */
  changed(endpoint: string, { name, storage, machine: { life } }: SimulatedObject): void {
    // Its other objects have jobs as well.
    if (this.#parts.plan.hasShards) return;
    const endpointId = endpointOf(name);
    if (!accountWith(this.#parts.accounts, endpointId)?.endpointIds.includes(endpointId)) return;
    const open = openJobs(storage);
    const earlier = this.#openBefore.get(endpoint) ?? NOTHING;
    this.#openBefore.set(endpoint, open);
    const [row] = storage.select(DESIRED) as { readonly desired: number }[];
    const growth = row && this.#grown(endpoint, row.desired, life);
    const [config] = storage.select(CONFIG) as { readonly json: string }[];
    if (!growth || !config) return;
    const [{ present } = { present: 0 }] = storage.select(PRESENT) as { readonly present: number }[];
    const whole = { ...growth, present, config: JSON.parse(config.json) as Config };
    const mistake = this.#mistakeOf(endpoint, whole, [earlier, open]);
    if (mistake !== undefined)
      this.#parts.violate(
        `${endpointId} desires ${growth.desired} workers, before ${growth.before.desired}: ${mistake}`,
      );
  }

  /** Undefined unless it desires more than before. */
  #grown(endpoint: string, desired: number, life: number): Pick<Growth, "before" | "desired"> | undefined {
    const before = this.#seen.get(endpoint) ?? { desired: 0, grownAt: -Infinity, life };
    const hasGrown = desired > before.desired;
    // What an object wrote last before it crashed may be gone, a growth among it.
    const isSame = before.life === life;
    const knownAt = isSame ? before.grownAt : -Infinity;
    const grownAt = hasGrown ? this.#parts.world.elapsedMs : knownAt;
    this.#seen.set(endpoint, { desired, grownAt, life });
    return hasGrown && isSame ? { before, desired } : undefined;
  }

  #mistakeOf(endpoint: string, growth: Growth, open: readonly OpenJobs[]): string | undefined {
    const { before, desired, config, present } = growth;
    // One that was on standby may be asked for by its name.
    if (desired <= Math.max(config.workersMin, present)) return undefined;
    if (config.scalerType === "REQUEST_COUNT") return mistakeOfCount(growth, open);
    if (!open.some(hasWaiting)) return "no job of normal priority waits";
    if (before.desired === 0) return desired === 1 ? undefined : "the first worker comes alone";
    if (desired > 2 * before.desired) return "it more than doubles";
    const most = Math.max(...open.map(({ waiting, running }) => waiting.length + running.length));
    if (desired > most) return `there are ${most} jobs`;
    return this.#haste(endpoint, before, config, open);
  }

  /** A job has waited for the value of the scaler, and the last workers came as long ago. */
  #haste(endpoint: string, { grownAt }: Seen, { scalerValue }: Config, open: readonly OpenJobs[]) {
    const { elapsedMs } = this.#parts.world;
    const leastMs = Math.max(1, scalerValue) * 1_000 - this.#earlyMs;
    const waiting = open.flatMap((one) => one.waiting.filter(({ isLow }) => !isLow));
    const oldest = Math.min(...waiting.map(({ seq }) => this.#cameAt.get(`${endpoint} ${seq}`) ?? -Infinity));
    if (elapsedMs - oldest < leastMs) return `no job has waited for longer than ${elapsedMs - oldest} ms`;
    return elapsedMs - grownAt < leastMs ? `it grew ${elapsedMs - grownAt} ms ago` : undefined;
  }
}

function hasWaiting({ waiting }: OpenJobs): boolean {
  return waiting.some(({ isLow }) => !isLow);
}

/** Jobs of low priority count only while they run and others wait. */
function mistakeOfCount({ desired, config }: Growth, open: readonly OpenJobs[]): string | undefined {
  const counts = open.map((one) => {
    const running = one.running.filter(({ seq }) => hasWaiting(one) || !isLowPriority(seq)).length;
    return one.waiting.filter(({ isLow }) => !isLow).length + running;
  });
  const most = Math.max(...counts);
  const allowed = Math.ceil(most / Math.max(1, config.scalerValue));
  return desired > allowed ? `${most} jobs wait or run, for ${allowed}` : undefined;
}

/** Endpoints for which Fleet starts a worker, though they have as many as they desire. */
export function startedBeyond(
  before: ReadonlyMap<string, WorkerRow>,
  rows: readonly WorkerRow[],
  desired: readonly DesiredRow[],
): readonly string[] {
  return desired.flatMap(({ endpoint_id: endpointId, desired: count }) => {
    const staying = stayingWorkers(endpointId, rows);
    const isStarted = staying.some(({ worker_id: workerId }) => !before.has(workerId));
    const isMoving = staying.some(({ moves }) => moves !== null);
    if (!isStarted || isMoving || staying.length <= count) return [];
    return [`${endpointId} gets a worker, has ${staying.length} then, and desires ${count}`];
  });
}

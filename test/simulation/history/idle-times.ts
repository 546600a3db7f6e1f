/**
 * A worker without jobs stays for the idle timeout of its endpoint unless another endpoint lacks workers, and no longer
 * where no more are needed.
 */
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { JobChange } from "../runtime/storage.ts";
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import { storagesOf } from "./endpoint-rows.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

export type IdleTimesParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly plan: HistoryPlan;
  readonly accounts: readonly Account[];
  /** As Fleet has them. */
  readonly workers: () => readonly WorkerRow[];
  readonly violate: (what: string) => void;
};

type Seen = { readonly isReady: boolean; readonly stays: boolean };

const LOOK_MS = 250;
/** A host may be taken back before the workers that left it are looked at. */
const TAKEN_BACK_MS = 1_000;
/** A worker counts from when it was ready, which Fleet hears so much later. */
const EARLY_MS = 1_000;
/** One worker leaves each second; an object that woke counts from then on. */
const LATE_MS = 20_000;
/** With these a worker leaves because it fails, or a clock shows another time. */
const END_WORKERS: readonly Fault[] = [
  "clockJumps",
  "clockSkew",
  "containerDies",
  "daemonBroken",
  "diskFull",
  "portTaken",
  "powerLost",
  "workerDies",
];
/** So long after an endpoint lacked workers, those of another one may still leave for it. */
const GIVES_WAY_MS = 5_000;
const DESIRED = "SELECT endpoint_id, desired FROM desired_workers";
const OPEN_JOBS = "SELECT seq FROM job WHERE state IN ('running', 'queued') LIMIT 1";

export class IdleTimes {
  readonly #parts: IdleTimesParts;
  readonly #idleMs: number;
  readonly #least: number;
  readonly #isTimeExact: boolean;
  /** Since when each worker has had no job, and each endpoint no change, ms of the history. */
  readonly #freeSince = new Map<string, number>();
  readonly #quietSince = new Map<string, number>();
  /** When an endpoint was last seen to lack workers. */
  readonly #shortAt = new Map<string, number>();
  /** The name of the object that has the endpoint. */
  readonly #fleetOf = new Map<string, string>();
  #seen = new Map<string, Seen>();
  #lives = 0;
  #livesSince = 0;
  #lookAt = 0;

  constructor(parts: IdleTimesParts) {
    const { workersMin, workersMax, idleTimeoutS, faults } = parts.plan;
    this.#parts = parts;
    this.#idleMs = idleTimeoutS * 1_000;
    this.#least = Math.min(workersMin, workersMax);
    this.#isTimeExact = !END_WORKERS.some((fault) => faults.has(fault));
  }

  /** `endpoint`: the name of its object. */
  jobChanged(endpoint: string, { workerId, before, after }: JobChange): void {
    const { elapsedMs } = this.#parts.world;
    this.#quietSince.set(endpoint.replace(/#\d+$/, "#0"), elapsedMs);
    if (workerId !== null && before !== after) this.#freeSince.set(workerId, elapsedMs);
  }

  checkStep(): void {
    const { world, edge, accounts, plan } = this.#parts;
    if (plan.isManaged || plan.hasDeletions || world.elapsedMs < this.#lookAt) return;
    this.#lookAt = world.elapsedMs + LOOK_MS;
    const lives = edge.objects.reduce((sum, { machine }) => sum + machine.life, 0);
    if (lives !== this.#lives) this.#livesSince = world.elapsedMs;
    this.#lives = lives;
    const workers = this.#parts.workers();
    const before = this.#seen;
    this.#seen = new Map();
    this.#noteShort(workers, before);
    for (const account of accounts)
      for (const endpointId of account.endpointIds) {
        const own = workers.filter((row) => row.endpoint_id === endpointId);
        for (const row of own) this.#follow(row, before.get(row.worker_id), account);
        this.#checkSpare(endpointId, own.filter(isStaying).length);
      }
  }

  #follow(row: WorkerRow, before: Seen | undefined, { drainedHostIds, takenBackAt }: Account): void {
    const { world, violate } = this.#parts;
    const { worker_id: workerId, endpoint_id: endpointId, host_id: hostId, state, moves } = row;
    const stays = isStaying(row);
    const isReady = stays && state === "ready";
    this.#seen.set(workerId, { isReady, stays });
    if (isReady && !before?.isReady) this.#freeSince.set(workerId, world.elapsedMs);
    if (stays !== (before?.stays ?? false)) this.#quietSince.set(`${endpointId}#0`, world.elapsedMs);
    const leaves = before?.isReady === true && !stays;
    if (!leaves || !this.#isTimeExact || moves !== null) return;
    const takenBackMs = world.elapsedMs - (takenBackAt.get(hostId) ?? -Infinity);
    if (drainedHostIds.has(hostId) || takenBackMs < TAKEN_BACK_MS) return;
    if (this.#isOtherShort(endpointId)) return;
    const idleMs = world.elapsedMs - (this.#freeSince.get(workerId) ?? 0) + LOOK_MS;
    if (idleMs < this.#idleMs - EARLY_MS)
      violate(`${workerId} leaves after ${idleMs} ms without a job, of ${this.#idleMs}`);
  }

  /** One that has got a worker since the look before had lacked it. */
  #noteShort(workers: readonly WorkerRow[], before: ReadonlyMap<string, Seen>): void {
    const { world, edge } = this.#parts;
    for (const [fleet, { storage }] of edge.fleets.objects)
      for (const row of storage.select(DESIRED)) {
        const endpointId = String(row["endpoint_id"]);
        const own = workers.filter((one) => one.endpoint_id === endpointId && isStaying(one));
        this.#fleetOf.set(endpointId, fleet);
        const hasGot = own.some(({ worker_id: workerId }) => before.get(workerId)?.stays !== true);
        if (hasGot || own.length < Number(row["desired"])) this.#shortAt.set(endpointId, world.elapsedMs);
      }
  }

  /** Of the same account. */
  #isOtherShort(endpointId: string): boolean {
    const fleet = this.#fleetOf.get(endpointId);
    return [...this.#shortAt].some(
      ([id, at]) =>
        id !== endpointId &&
        this.#fleetOf.get(id) === fleet &&
        this.#parts.world.elapsedMs - at < GIVES_WAY_MS,
    );
  }

  #checkSpare(endpointId: string, count: number): void {
    const { world, edge, violate } = this.#parts;
    const limitMs = this.#idleMs + LATE_MS;
    const endpoint = `${endpointId}#0`;
    const since = Math.max(this.#quietSince.get(endpoint) ?? 0, this.#livesSince);
    if (count <= this.#least || world.elapsedMs - since < limitMs) return;
    const open = storagesOf(edge, endpointId).flatMap((storage) => storage.select(OPEN_JOBS));
    if (open.length === 0)
      violate(`${endpointId} has ${count} workers, none with a job for more than ${limitMs} ms`);
  }
}

function isStaying({ retired_in: retiredIn, standby_at: standbyAt }: WorkerRow): boolean {
  return retiredIn === null && standbyAt === null;
}

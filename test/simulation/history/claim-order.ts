/** In which order jobs are claimed, and the places in the queue that statuses say of those that wait. */
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { SimulatedObject } from "../runtime/objects.ts";
import type { ObjectStorage } from "../runtime/storage.ts";
import type { World } from "../world/world.ts";
import { nameOf, objectOf, openJobs, type OpenJobs, type WaitingJob } from "./endpoint-rows.ts";
import { isLowPriority, LOW_PRIORITY_FROM } from "./job-rows.ts";
import type { HistoryPlan } from "./plan.ts";

export type ClaimOrderParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly violate: (what: string) => void;
};

/** `changedAt`: when jobs last came to wait or stopped waiting, ms of the history. */
type Seen = {
  readonly storage: ObjectStorage;
  readonly life: number;
  readonly open: OpenJobs;
  readonly changedAt: number;
};

/** While normal jobs wait, one claim in 20 takes a job of low priority, as docs/how-to/batches.md says. */
const NORMALS_PER_LOW = 19;
/** Jobs with smaller numbers whose places are no longer there, though no worker has had them. */
const CANCELLED = `SELECT count(*) AS count FROM job WHERE state = 'cancelled' AND attempt = 0`;
const STORED = `
  SELECT count(*) FILTER (WHERE seq < ${LOW_PRIORITY_FROM}) AS normal, count(*) FILTER (WHERE seq >= ${LOW_PRIORITY_FROM}) AS low,
    max(seq) FILTER (WHERE seq < ${LOW_PRIORITY_FROM}) AS lastNormal, max(seq) AS last FROM job`;

export class ClaimOrder {
  readonly #parts: ClaimOrderParts;
  readonly #seen = new Map<string, Seen>();
  /** Normal jobs that were claimed since the last one of low priority, by object. */
  readonly #normals = new Map<string, number>();

  constructor(parts: ClaimOrderParts) {
    this.#parts = parts;
  }

  checkStep({ name, storage, machine: { life } }: SimulatedObject): void {
    const before = this.#seen.get(name);
    // What an object wrote last before it crashed may be gone.
    const isSame = before?.life === life;
    if (isSame && !storage.isChanged) return;
    const open = openJobs(storage);
    const isChanged = !isSame || !hasSameWaiting(before.open, open);
    const changedAt = isChanged ? this.#parts.world.elapsedMs : before.changedAt;
    this.#seen.set(name, { storage, life, open, changedAt });
    if (isSame) this.#checkClaims(name, before.open, open);
  }

  /** A status says which place the job has in the queue. */
  heard(endpointId: string, jobId: string, place: number, sentAt: number): void {
    const seq = decodeJobId(jobId)?.seq ?? 0;
    const object = objectOf(endpointId, jobId);
    const seen = [...this.#seen].find(([name]) => nameOf(name) === object)?.[1];
    // It may have had another place when it was asked for.
    if (!seen || seen.changedAt >= sentAt) return;
    const job = seen.open.waiting.find((one) => one.seq === seq);
    if (!job) return this.#parts.violate(`${jobId} has place ${place} of a queue in which it does not wait`);
    const [least, most] = placesOf(job, seen);
    if (place < least || place > most)
      this.#parts.violate(`${jobId} has place ${place} in the queue, not one of ${least} to ${most}`);
  }

  /** What is claimed first came first, within its priority; what had a worker before goes ahead of what had none. */
  #checkClaims(name: string, before: OpenJobs, after: OpenJobs): void {
    const { violate } = this.#parts;
    const claimed = claimedJobs(before, after);
    const left = this.#leftOf(before, after);
    for (const isLow of [false, true]) {
      const last = claimed
        .filter((job) => job.isLow === isLow)
        .toSorted(inOrder)
        .at(-1);
      const [first] = left.filter((job) => job.isLow === isLow).toSorted(inOrder);
      if (last && first && inOrder(first, last) < 0)
        violate(`job ${last.seq} of ${name} was claimed, and job ${first.seq} had waited before it`);
    }
    this.#checkPriorities(name, claimed, left);
  }

  #checkPriorities(name: string, claimed: readonly WaitingJob[], left: readonly WaitingJob[]): void {
    const lows = claimed.filter(({ isLow }) => isLow).length;
    const normals = (this.#normals.get(name) ?? 0) + claimed.length - lows;
    this.#normals.set(name, lows > 0 ? 0 : normals);
    const normal = left.find(({ isLow }) => !isLow);
    if (normal && lows > Math.floor(normals / NORMALS_PER_LOW))
      this.#parts.violate(
        `a job of low priority of ${name} was claimed after ${normals} others, and job ${normal.seq} waits`,
      );
  }

  /** Jobs that waited before and still do, and have not expired for any clock. */
  #leftOf(before: OpenJobs, after: OpenJobs): readonly WaitingJob[] {
    const { world, plan } = this.#parts;
    const gone = world.now + 2 * (plan.faults.get("clockSkew") ?? 0);
    const waited = new Set(before.waiting.map(({ seq }) => seq));
    return after.waiting.filter(({ seq, expiresAt }) => waited.has(seq) && expiresAt > gone);
  }
}

/**
 * As they waited before; one that came in and was claimed at once was the last, and one that was given back and claimed
 * again at once had a worker.
 */
function claimedJobs(before: OpenJobs, after: OpenJobs): readonly WaitingJob[] {
  const ran = new Map(before.running.map(({ seq, startedAt }) => [seq, startedAt]));
  const waited = new Map(before.waiting.map((job) => [job.seq, job]));
  return after.running
    .filter(({ seq, startedAt }) => ran.get(seq) !== startedAt)
    .map(({ seq }) => {
      const isNew = { seq, isLow: isLowPriority(seq), isRequeued: ran.has(seq), expiresAt: Infinity };
      return waited.get(seq) ?? isNew;
    });
}

function inOrder(a: WaitingJob, b: WaitingJob): number {
  return Number(b.isRequeued) - Number(a.isRequeued) || a.seq - b.seq;
}

function hasSameWaiting(before: OpenJobs, after: OpenJobs): boolean {
  const seqs = new Set(before.waiting.map(({ seq }) => seq));
  return seqs.size === after.waiting.length && after.waiting.every(({ seq }) => seqs.has(seq));
}

/** The first and the last that it may have: how many normal jobs were claimed since one of low priority is not stored. */
function placesOf(job: WaitingJob, { open: { waiting }, storage }: Seen): readonly [number, number] {
  const own = waiting.filter(({ isLow }) => isLow === job.isLow);
  const others = waiting.length - own.length;
  const place = own.filter((one) => inOrder(one, job) < 0).length + 1;
  // Jobs before it that were cancelled or are gone count, but never beyond the end of the queue.
  const last = isWhole(storage) ? place : own.length;
  if (job.isLow)
    return [
      place + Math.min(others, (place - 1) * NORMALS_PER_LOW),
      last + Math.min(others, last * NORMALS_PER_LOW),
    ];
  return [place, last + Math.min(others, Math.ceil(last / NORMALS_PER_LOW))];
}

/** All jobs that ever came are there, and each has had a worker or waits. */
function isWhole(storage: ObjectStorage): boolean {
  const [{ count } = { count: 0 }] = storage.select(CANCELLED) as { readonly count: number }[];
  const [stored] = storage.select(STORED) as {
    readonly normal: number;
    readonly low: number;
    readonly lastNormal: number | null;
    readonly last: number | null;
  }[];
  if (count > 0 || !stored) return false;
  const { normal, low, lastNormal, last } = stored;
  return (lastNormal ?? 0) === normal && (low === 0 || last === LOW_PRIORITY_FROM + low - 1);
}

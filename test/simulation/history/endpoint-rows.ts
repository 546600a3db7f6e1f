/** What the rows of an endpoint's object say of its jobs, whether a claim was written into the job's row or not. */
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { ObjectStorage } from "../runtime/storage.ts";
import { isLowPriority, LOW_PRIORITY_FROM } from "./job-rows.ts";

export type WaitingJob = {
  readonly seq: number;
  readonly isLow: boolean;
  /** A worker has had it. */
  readonly isRequeued: boolean;
  readonly expiresAt: number;
};
export type RunningJob = {
  readonly seq: number;
  readonly workerId: string;
  readonly hostId: string;
  readonly startedAt: number;
};
export type OpenJobs = { readonly waiting: readonly WaitingJob[]; readonly running: readonly RunningJob[] };

type Claim = readonly [seq: number, workerId: string, startedAt: number];
type Row = {
  readonly seq: number;
  readonly nonce: string;
  readonly state: string;
  readonly attempt: number;
  readonly expires_at: number;
  readonly worker_id: string;
  readonly host_id: string;
  readonly started_at: number;
};
/** Up to where jobs were claimed, cancelled or purged, as last written. */
type Heads = { readonly normal: number; readonly low: number };

const NO_HEADS: Heads = { normal: 0, low: LOW_PRIORITY_FROM };
const OPEN = `
  SELECT seq, nonce, state, attempt, expires_at, worker_id, host_id, started_at FROM job WHERE state IN ('queued', 'running')`;
const STORED = `SELECT nonce, min(expires_at, coalesce(remove_at, expires_at)) AS goneAt FROM job`;
const CLAIMS = "claims:";
const FACTS = `SELECT name, json FROM fact WHERE name >= '${CLAIMS}' AND name < 'claims;'`;
const HEADS = `
  SELECT json ->> '$.lanes.normal.head' AS normal, json ->> '$.lanes.low.head' AS low FROM fact WHERE name = 'checkpoint'`;

/** The jobs that have not ended. */
export function openJobs(storage: ObjectStorage): OpenJobs {
  const rows = storage.select(OPEN) as Row[];
  if (rows.length === 0) return { waiting: [], running: [] };
  const isAnyUnwritten = rows.some(isNeverClaimed);
  const claims = isAnyUnwritten ? unwrittenClaims(storage) : new Map<number, RunningJob>();
  const heads = isAnyUnwritten ? headsOf(storage) : NO_HEADS;
  const waiting: WaitingJob[] = [];
  const running: RunningJob[] = [];
  for (const row of rows) {
    const { seq, attempt, expires_at: expiresAt } = row;
    const claim = row.state === "running" ? runningOf(row) : isNeverClaimed(row) && claims.get(seq);
    if (claim) running.push(claim);
    else if (!isPurged(row, heads))
      waiting.push({ seq, isLow: isLowPriority(seq), isRequeued: attempt > 0, expiresAt });
  }
  return { waiting, running };
}

function isNeverClaimed({ state, attempt }: Row): boolean {
  return state === "queued" && attempt === 0;
}

/** Jobs that wait, or did when the queue was purged, and that no worker has had. */
export function neverClaimedJobs(
  storage: ObjectStorage,
): readonly { readonly nonce: string; readonly isPurged: boolean }[] {
  const [claims, heads] = [unwrittenClaims(storage), headsOf(storage)];
  return (storage.select(OPEN) as Row[])
    .filter((row) => isNeverClaimed(row) && !claims.has(row.seq))
    .map((row) => ({ nonce: row.nonce, isPurged: isPurged(row, heads) }));
}

export type StoredJob = {
  readonly nonce: string;
  /** Nobody can read it from then on, by the clock of its object; a purged one goes at another time. */
  readonly goneAt: number;
  readonly isPurged: boolean;
};

/** All jobs that have rows. */
export function storedJobs(storage: ObjectStorage): readonly StoredJob[] {
  const purged = new Set(
    neverClaimedJobs(storage).flatMap(({ nonce, isPurged }) => (isPurged ? [nonce] : [])),
  );
  const rows = storage.select(STORED) as { readonly nonce: string; readonly goneAt: number }[];
  return rows.map(({ nonce, goneAt }) => ({ nonce, goneAt, isPurged: purged.has(nonce) }));
}

/** How many jobs wait again that a worker has had. */
export function requeuedCount(storage: ObjectStorage): number {
  return storage.rowsOf("requeued").length;
}

/** What `health` has to say of the jobs. */
export function countedJobs(storage: ObjectStorage): Readonly<Record<string, number>> {
  const { waiting, running } = openJobs(storage);
  const completed = storage.jobsInto("completed");
  const failed = storage.jobsInto("failed", "timed_out");
  return { inQueue: waiting.length, inProgress: running.length, completed, failed };
}

/** What has happened to jobs, as metrics have to say. */
export function activityIn(storage: ObjectStorage) {
  return {
    requests: storage.jobsInto("submitted"),
    completed: storage.jobsInto("completed"),
    failed: storage.jobsInto("failed"),
    timedOut: storage.jobsInto("timed_out"),
    retried: storage.jobsInto("retried"),
  };
}

/** A purge touches no row: it moves the heads, and writes them. */
function isPurged(row: Row, { normal, low }: Heads): boolean {
  return isNeverClaimed(row) && row.seq < (isLowPriority(row.seq) ? low : normal);
}

function headsOf(storage: ObjectStorage): Heads {
  const [heads = NO_HEADS] = storage.select(HEADS) as Heads[];
  return heads;
}

function runningOf({ seq, worker_id: workerId, host_id: hostId, started_at: startedAt }: Row): RunningJob {
  return { seq, workerId, hostId, startedAt };
}

function unwrittenClaims(storage: ObjectStorage): ReadonlyMap<number, RunningJob> {
  const claims = new Map<number, RunningJob>();
  for (const { name, json } of storage.select(FACTS) as { name: string; json: string }[]) {
    const hostId = name.slice(CLAIMS.length);
    for (const [seq, workerId, startedAt] of JSON.parse(json) as Claim[])
      claims.set(seq, { seq, workerId, hostId, startedAt });
  }
  return claims;
}

export function storagesOf(edge: SimulatedEdge, endpointId: string): readonly ObjectStorage[] {
  return [...edge.endpoints.objects.values()]
    .filter(({ name }) => endpointOf(name) === endpointId)
    .map(({ storage }) => storage);
}

/** The object that has a job; `jobId` names its shard. */
export function objectOf(endpointId: string, jobId: string): string {
  return `${endpointId}#${decodeJobId(jobId)?.shard ?? 0}`;
}

/** The name of an object within its class. */
export function nameOf(name: string): string {
  return name.replace(/^endpoint /, "");
}

/** The object of an endpoint is named after it and its shard. */
export function endpointOf(name: string): string {
  return nameOf(name).replace(/#\d+$/, "");
}

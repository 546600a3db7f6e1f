/**
 * What the jobs of an endpoint may take: the database of its object, and payloads in R2 beside it.
 *
 * S1  A submission is rejected when it would put both together above the limit, or the database above its own.
 * S2  A result is never rejected: the job has run. So jobs stay queued while stored data exceeds a limit by half,
 *     or while running jobs may still fill the database that far. Jobs start again once results have been removed.
 * S3  Chunks that jobs yield meanwhile are stored up to the last tenth of the database.
 */

/** The platform refuses further writes into the database of an object of this size. */
export const OBJECT_DATABASE_MAX_BYTES = 10_000_000_000;
/** What the end of a running job may add to the database: its result, its error, its row. */
export const RUNNING_JOB_RESERVE_BYTES = 500_000;

export type StorageUse = {
  /** Rows of jobs with their small payloads, chunks and batches. */
  readonly databaseBytes: number;
  /** Payloads in R2. */
  readonly storedBytes: number;
  readonly runningJobs: number;
};

export type StorageMeasure = "storage" | "database";

export type ExceededStorage = {
  readonly measure: StorageMeasure;
  readonly used: number;
  readonly limit: number;
};

const DATABASE_SHARE = 0.5;
const DISPATCH_SHARE = 1.5;
const CHUNKS_SHARE = 1.8;
/** More than a turn adds to the database. */
const TURN_BYTES = 256_000_000;

/** Why so many bytes more are too many; undefined when they are not. */
export function findExceeded(
  use: StorageUse,
  addedBytes: number,
  limitBytes: number,
): ExceededStorage | undefined {
  const used = use.databaseBytes + use.storedBytes;
  if (used + addedBytes > limitBytes) return { measure: "storage", used, limit: limitBytes };
  const limit = databaseLimit(limitBytes);
  if (use.databaseBytes <= limit) return undefined;
  return { measure: "database", used: use.databaseBytes, limit };
}

/** How many more jobs may run, of which each may bring a result. */
export function jobsToRun(use: StorageUse, limitBytes: number): number {
  if (use.databaseBytes + use.storedBytes > limitBytes * DISPATCH_SHARE) return 0;
  const freeBytes = databaseLimit(limitBytes) * DISPATCH_SHARE - use.databaseBytes;
  return Math.max(0, Math.floor(freeBytes / RUNNING_JOB_RESERVE_BYTES) - use.runningJobs);
}

/** Whether the database takes no more chunks of streams. */
export function isFullForChunks({ databaseBytes }: StorageUse, limitBytes: number): boolean {
  return databaseBytes > databaseLimit(limitBytes) * CHUNKS_SHARE;
}

/** For how many turns the size of the database need not be read again, at least one. */
export function turnsUntilFull(databaseBytes: number, limitBytes: number): number {
  return Math.max(1, Math.floor((databaseLimit(limitBytes) - databaseBytes) / TURN_BYTES));
}

function databaseLimit(limitBytes: number): number {
  return Math.min(limitBytes, OBJECT_DATABASE_MAX_BYTES * DATABASE_SHARE);
}

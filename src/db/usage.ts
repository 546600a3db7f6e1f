/**
 * Usage by endpoint and hour.
 *
 * U1  What is written are totals of the hour, never differences, and a total only grows: writing one twice, or an
 *     older one after a newer one, changes nothing.
 * U2  Writes of workers leave jobs unchanged, and the reverse.
 */
import { and, asc, desc, eq, getTableColumns, gte, inArray, lt, min, sql, type SQL } from "drizzle-orm";
import type { GpuTime, VersionTime } from "../domain/metrics/worker-usage.ts";
import type { Database } from "./database.ts";
import { pod, usageHour, usageProgress } from "./schema.ts";

export const USAGE_RETENTION_MS = 400 * 86_400_000;

/** Clocks of objects may differ: an hour is complete when it is over by this. */
export const USAGE_CLOCK_TOLERANCE_MS = 120_000;

export type UsageRecord = typeof usageHour.$inferSelect;

/** What workers took in an hour. */
export type WorkerTotals = Pick<
  UsageRecord,
  "endpointId" | "hour" | "accountId" | "endpointName" | "workerMs"
> & {
  readonly gpus: readonly GpuTime[];
  readonly versions: readonly VersionTime[];
};

/** What jobs did in an hour. */
export type JobTotals = Pick<
  UsageRecord,
  | "hour"
  | "requests"
  | "completed"
  | "failed"
  | "cancelled"
  | "timedOut"
  | "expired"
  | "retried"
  | "coldStarts"
  | "delayMs"
  | "executionMs"
  | "busyMs"
>;

/** The rows travel as one parameter. */
const ROWS_PER_STATEMENT = 500;

export async function saveWorkerTotals(db: Database, totals: readonly WorkerTotals[]): Promise<void> {
  for (let from = 0; from < totals.length; from += ROWS_PER_STATEMENT) {
    const rows = JSON.stringify(totals.slice(from, from + ROWS_PER_STATEMENT));
    await db.run(sql`
      INSERT INTO usage_hour (endpoint_id, hour, account_id, endpoint_name, worker_ms, gpus, versions, is_pod)
      SELECT value ->> 'endpointId', value ->> 'hour', value ->> 'accountId', value ->> 'endpointName',
             value ->> 'workerMs', value -> 'gpus', value -> 'versions',
             EXISTS (SELECT 1 FROM pod WHERE id = value ->> 'endpointId') OR
             EXISTS (SELECT 1 FROM usage_hour AS known WHERE known.endpoint_id = value ->> 'endpointId' AND known.is_pod)
      FROM json_each(${rows}) WHERE true
      ON CONFLICT (endpoint_id, hour) DO UPDATE SET
        endpoint_name = CASE excluded.endpoint_name WHEN '' THEN endpoint_name ELSE excluded.endpoint_name END,
        worker_ms = excluded.worker_ms, gpus = excluded.gpus, versions = excluded.versions
      WHERE excluded.worker_ms > worker_ms OR endpoint_name = ''`);
  }
}

/** `queriedAt`: when the endpoint's object was queried; hours that are over by then are complete. */
export async function saveJobTotals(
  db: Database,
  { endpointId, accountId, endpointName }: Pick<UsageRecord, "endpointId" | "accountId" | "endpointName">,
  totals: readonly JobTotals[],
  queriedAt: number,
): Promise<void> {
  const rows = JSON.stringify(totals);
  await db.run(sql`
    INSERT INTO usage_hour (endpoint_id, hour, account_id, endpoint_name, requests, completed, failed, cancelled,
                            timed_out, expired, retried, cold_starts, delay_ms, execution_ms, busy_ms, jobs_at)
    SELECT ${endpointId}, value ->> 'hour', ${accountId}, ${endpointName}, value ->> 'requests',
           value ->> 'completed', value ->> 'failed', value ->> 'cancelled', value ->> 'timedOut',
           value ->> 'expired', value ->> 'retried', value ->> 'coldStarts', value ->> 'delayMs',
           value ->> 'executionMs', value ->> 'busyMs', ${queriedAt}
    FROM json_each(${rows}) WHERE true
    ON CONFLICT (endpoint_id, hour) DO UPDATE SET
      requests = excluded.requests, completed = excluded.completed, failed = excluded.failed,
      cancelled = excluded.cancelled, timed_out = excluded.timed_out, expired = excluded.expired,
      retried = excluded.retried, cold_starts = excluded.cold_starts, delay_ms = excluded.delay_ms,
      execution_ms = excluded.execution_ms, busy_ms = excluded.busy_ms, jobs_at = excluded.jobs_at
    WHERE excluded.jobs_at > jobs_at`);
}

/** Hours of an endpoint for which its object, queried at `queriedAt`, had nothing to report. */
export async function saveQueryTime(db: Database, endpointId: string, queriedAt: number): Promise<void> {
  await db
    .update(usageHour)
    .set({ jobsAt: queriedAt })
    .where(and(eq(usageHour.endpointId, endpointId), isOpen, lt(usageHour.jobsAt, queriedAt)));
}

const HOUR_MS = 3_600_000;
/** The object of an endpoint has not been queried since the hour was over; pods have none. */
const isOpen = sql`NOT ${usageHour.isPod} AND ${usageHour.jobsAt} < ${usageHour.hour} + ${HOUR_MS + USAGE_CLOCK_TOLERANCE_MS}`;

export type OpenUsage = Pick<UsageRecord, "endpointId" | "accountId" | "endpointName"> & {
  /** Its first hour that is not complete. */
  readonly since: number;
};

/** Endpoints of all accounts with hours that are not complete, the least recently queried first. */
export async function listOpenUsage(db: Database, since: number, limit: number): Promise<OpenUsage[]> {
  const first = min(usageHour.hour);
  const rows = await db
    .select({
      endpointId: usageHour.endpointId,
      accountId: usageHour.accountId,
      endpointName: sql<string>`max(${usageHour.endpointName})`,
      since: first,
    })
    .from(usageHour)
    .where(and(gte(usageHour.hour, since), isOpen))
    .groupBy(usageHour.endpointId, usageHour.accountId)
    .orderBy(asc(min(usageHour.jobsAt)))
    .limit(limit);
  return rows.map((row) => ({ ...row, since: row.since ?? since }));
}

/** Where the progress of all accounts was, when they had one Fleet object. */
const WORKERS = "workers";

function workersOf(accountId: string): string {
  return `${WORKERS}:${accountId}`;
}

/** The first hour of which the usage of the account's workers may not be complete; null before the first collection. */
export async function findUsageProgress(db: Database, accountId: string): Promise<number | null> {
  const row = await db
    .select()
    .from(usageProgress)
    .where(inArray(usageProgress.source, [workersOf(accountId), WORKERS]))
    .orderBy(desc(usageProgress.source))
    .get();
  return row?.hour ?? null;
}

export async function saveUsageProgress(db: Database, accountId: string, hour: number): Promise<void> {
  await db
    .insert(usageProgress)
    .values({ source: workersOf(accountId), hour })
    .onConflictDoUpdate({
      target: usageProgress.source,
      set: { hour: sql`max(${usageProgress.hour}, excluded.hour)` },
    });
}

/** A statement for the batch that deletes pods: what is collected of them later is known as that of pods. */
export function markPodUsage(db: Database, deleted: SQL | undefined, now: number) {
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
  const values: Readonly<Record<string, unknown>> = {
    endpointId: pod.id,
    hour: sql`${hour}`,
    accountId: pod.accountId,
    endpointName: pod.name,
    gpus: sql`'[]'`,
    versions: sql`'[]'`,
    isPod: sql`1`,
  };
  const columns = Object.keys(getTableColumns(usageHour)).map((column) => sql`${values[column] ?? sql`0`}`);
  return db
    .insert(usageHour)
    .select(sql`SELECT ${sql.join(columns, sql`, `)} FROM ${pod} WHERE ${deleted}`)
    .onConflictDoUpdate({ target: [usageHour.endpointId, usageHour.hour], set: { isPod: true } });
}

export type UsageRange = {
  readonly from: number;
  readonly to: number;
  readonly endpointId?: string | undefined;
  /** Only of pods, or only of endpoints. */
  readonly isPod?: boolean | undefined;
};

/**
 * Hours of the account from `from` to before `to`, of one endpoint or of all, in their order; one more than `limit`
 * when there are more.
 */
export async function listUsage(
  db: Database,
  accountId: string,
  { from, to, endpointId, isPod }: UsageRange,
  limit: number,
): Promise<UsageRecord[]> {
  const ofEndpoint = endpointId === undefined ? [] : [eq(usageHour.endpointId, endpointId)];
  const ofKind = isPod === undefined ? [] : [eq(usageHour.isPod, isPod)];
  const isInRange = and(gte(usageHour.hour, from), lt(usageHour.hour, to));
  return await db
    .select()
    .from(usageHour)
    .where(and(eq(usageHour.accountId, accountId), isInRange, ...ofEndpoint, ...ofKind))
    .orderBy(asc(usageHour.hour), asc(usageHour.endpointId))
    .limit(limit + 1);
}

/** Removes hours of all accounts from before; returns how many. */
export async function removeOldUsage(db: Database, before: number, limit: number): Promise<number> {
  const oldest = db
    .select({ rowid: sql`rowid` })
    .from(usageHour)
    .where(lt(usageHour.hour, before))
    .limit(limit);
  const removed = await db
    .delete(usageHour)
    .where(inArray(sql`rowid`, oldest))
    .returning({ hour: usageHour.hour });
  return removed.length;
}

/**
 * Brings usage into D1: of workers from the Fleet object of each account, of jobs from the objects of endpoints that
 * had workers or waited for them. Everything is a total of an hour (db/usage.ts, U1), so a run may be cut off anywhere, run twice, or be late
 * by as long as the objects remember.
 */
import type { Database } from "../../db/database.ts";
import {
  findUsageProgress,
  listOpenUsage,
  saveQueryTime,
  saveUsageProgress,
  saveJobTotals,
  saveWorkerTotals,
  USAGE_CLOCK_TOLERANCE_MS,
  type JobTotals,
  type OpenUsage,
} from "../../db/usage.ts";
import type { JobHour } from "../../endpoint/messages.ts";
import type { Env } from "../../env.ts";
import { fewAtOnce } from "../../std/few-at-once.ts";
import { logFailure } from "../failure-log.ts";
import { ofEachFleet } from "../fleets.ts";
import { endpointObject, fleetObject, ENDPOINT_CALLS_CONCURRENT_MAX } from "../objects.ts";

/** Objects of endpoints that one maintenance run asks for their usage. */
const USAGE_CALLS_MAX = 100;

/** Hours of usage that one maintenance run collects of workers, and the most that one question covers. */
const USAGE_HOURS_MAX = 24;

/** How far back usage is still collected; less than the hours that endpoints retain. */
export const USAGE_REACH_MS = 9 * 86_400_000;

const HOUR_MS = 3_600_000;

export type UsagePlace = { readonly env: Pick<Env, "ENDPOINT" | "FLEET">; readonly db: Database };

/** Collects usage; returns how many hours of workers and of jobs were reported. */
export async function collectUsage(place: UsagePlace, now: number): Promise<number> {
  const workers = await collectWorkers(place, now);
  return workers + (await collectJobs(place, now));
}

async function collectWorkers(place: UsagePlace, now: number): Promise<number> {
  const counts = await ofEachFleet(place.db, (accountId) => collectWorkersOf(place, accountId, now));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function collectWorkersOf({ env, db }: UsagePlace, accountId: string, now: number): Promise<number> {
  const present = Math.floor(now / HOUR_MS) * HOUR_MS;
  const earliest = present - Math.floor(USAGE_REACH_MS / HOUR_MS) * HOUR_MS;
  const settled = Math.floor((now - USAGE_CLOCK_TOLERANCE_MS) / HOUR_MS) * HOUR_MS;
  const progress = await findUsageProgress(db, accountId);
  const since = Math.max(progress ?? present - (USAGE_HOURS_MAX - 1) * HOUR_MS, earliest);
  const until = Math.min(since + USAGE_HOURS_MAX * HOUR_MS, present + HOUR_MS);
  // An hour is remembered longer than it need be, should D1 be set back to an older state.
  const storedUntil = since - USAGE_HOURS_MAX * HOUR_MS;
  const hours = await fleetObject(env, accountId).usage({ since, until, storedUntil });
  await saveWorkerTotals(
    db,
    hours.map(({ name, ...hour }) => ({ ...hour, endpointName: name })),
  );
  const next = Math.min(until, settled);
  if (progress === null || next > progress) await saveUsageProgress(db, accountId, next);
  return hours.length;
}

async function collectJobs(place: UsagePlace, now: number): Promise<number> {
  const open = await listOpenUsage(place.db, now - USAGE_REACH_MS, USAGE_CALLS_MAX);
  let hours = 0;
  await fewAtOnce(open, ENDPOINT_CALLS_CONCURRENT_MAX, async (endpoint) => {
    try {
      const collected = await collectJobsOf(place, endpoint, now);
      hours += collected; // others have added theirs meanwhile
    } catch (cause) {
      logFailure("usage_not_collected", { endpointId: endpoint.endpointId }, cause);
    }
  });
  return hours;
}

/** Asks an endpoint's object for its hours and stores them; to be called once more before the object is emptied. */
export async function collectJobsOf(
  { env, db }: UsagePlace,
  endpoint: OpenUsage,
  now: number,
): Promise<number> {
  const { endpointId, since } = endpoint;
  const reply = await endpointObject(env, endpointId).usage(since);
  const hours = reply.kind === "usage" ? reply.hours : []; // an emptied object has already reported its hours
  if (hours.length > 0) await saveJobTotals(db, endpoint, hours.map(totalsOf), now);
  await saveQueryTime(db, endpointId, now);
  return hours.length;
}

function totalsOf({ counts, ...hour }: JobHour): JobTotals {
  const { timed_out: timedOut, ...rest } = counts;
  return { ...hour, ...rest, timedOut };
}

/** The logs of an endpoint. */
import type * as z from "zod";
import type { Env } from "../../../env.ts";
import { LOG_AHEAD_MAX_MS, logRetentionDays } from "../../../management/logs/log-retention.ts";
import {
  LOG_PAGE_MAX,
  logQuerySchema,
  workerLogQuerySchema,
  type LogPage,
} from "../../../contract/agent/log.ts";
import { DAY_MS, SEQ_PER_MS, type LogOwner } from "../../../domain/logs/log-key.ts";
import { LogProgress } from "../../../domain/logs/log-progress.ts";
import {
  readPosition,
  viewLine,
  writePosition,
  type LogFilter,
  type LogPosition,
} from "../../../domain/logs/log-lines.ts";
import { findLines, type LogSearch } from "../../../management/logs/log-reader.ts";
import { fleetObject } from "../../../management/objects.ts";
import { ServiceError } from "../../../contract/errors.ts";
import { type QueueContext, readQuery } from "../context.ts";
import { followLogs } from "./log-events.ts";
import { wantsEvents } from "./stream-events.ts";

/**
 * `GET /logs?workerId=&jobId=&source=&level=&search=&since=&until=&limit=&cursor=`: the newest
 * matching lines, ordered by time; `cursor` of the answer leads to older ones. With `Accept: text/event-stream`
 * the same lines come as events, followed by new ones.
 */
export async function logs(context: QueueContext): Promise<Response> {
  const query = readQuery(context, logQuerySchema);
  const { since, until, limit, cursor, ...filter } = query;
  const position = cursor === undefined ? latest(until) : readPosition(cursor);
  if (position === undefined)
    throw new ServiceError("invalid_input", "cursor: must be one that a page returned");
  const before = { ...position, seq: Math.min(position.seq, latest().seq) };
  const search = { ...searchOf(context.env, ownerOf(context), filter), limit, before };
  if (since !== undefined) search.from = Math.max(search.from, since * SEQ_PER_MS);
  if (wantsEvents(context)) return await followLogs(context, search, "whole");
  const found = await findLines(context.env.LOGS, search);
  return context.json({
    lines: found.lines.map(viewLine),
    cursor: found.before && writePosition(found.before),
  } satisfies LogPage);
}

/**
 * `GET /v2/serverless/<endpoint>/workers/<worker>/logs?source=&tail=&since=`: the lines of one worker as events. A time
 * as `Last-Event-ID`, alone or before a slash, is as good as `since`.
 */
export async function workerLogs(context: QueueContext): Promise<Response> {
  const query = readQuery(context, workerLogQuerySchema.strict());
  const workerId = context.req.param("workerId") ?? "";
  const since = resumedAt(context.req.header("Last-Event-ID") ?? "") ?? query.since;
  const owner = ownerOf(context);
  await requireWorker(context.env, owner, workerId);
  const search = workerSearch(context.env, owner, workerId, { ...query, since });
  return await followLogs(context, search, "plain");
}

/** The time of an event of elsewhere; one of ours says more than its time. */
function resumedAt(lastEventId: string): number | undefined {
  const at = LogProgress.read(lastEventId) ? NaN : Date.parse(lastEventId.split("/")[0] ?? "");
  return Number.isNaN(at) ? undefined : at;
}

/** Rejects a worker that neither runs nor left logs. A search that stopped before the end says nothing of it. */
async function requireWorker(env: Env, owner: LogOwner, workerId: string): Promise<void> {
  const workers = await fleetObject(env, owner.accountId).workersOf([owner.endpointId]);
  if (workers.some((worker) => worker.workerId === workerId)) return;
  const search = { ...searchOf(env, owner, { workerId }), limit: 1, before: latest() };
  const { lines, before } = await findLines(env.LOGS, search);
  if (lines.length > 0 || before) return;
  const message = `Endpoint ${owner.endpointId} has no worker ${workerId}, and no logs of it. Check the id; GET /v2/serverless/${owner.endpointId}/workers lists workers.`;
  throw new ServiceError("not_found", message);
}

/** Searches the last lines of a worker. */
export function workerSearch(
  env: Env,
  owner: LogOwner,
  workerId: string,
  { source, tail, since }: z.output<typeof workerLogQuerySchema>,
): LogSearch {
  const search = searchOf(env, owner, { workerId, ...(source !== undefined && { source }) });
  const from = since === undefined ? search.from : Math.max(search.from, since * SEQ_PER_MS);
  return { ...search, from, limit: since === undefined ? tail : LOG_PAGE_MAX, before: latest() };
}

/** Searches the stored lines that match a filter. */
function searchOf(env: Env, owner: LogOwner, filter: LogFilter) {
  const from = (Date.now() - logRetentionDays(env) * DAY_MS) * SEQ_PER_MS;
  return { owner, filter, from } satisfies Partial<LogSearch>;
}

function ownerOf(context: QueueContext): LogOwner {
  const { accountId, endpointId } = context.get("endpoint");
  return { accountId, endpointId };
}

/** The position after all lines until then; a host's clock may be a little ahead. */
function latest(until = Date.now() + LOG_AHEAD_MAX_MS): LogPosition {
  return { seq: until * SEQ_PER_MS, source: "container", workerId: "-" };
}

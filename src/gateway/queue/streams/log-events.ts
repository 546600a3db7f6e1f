/**
 * Logs as server-sent events: first stored lines, then live ones. It subscribes to live lines before it reads the stored
 * ones, and agents repeat the lines in between, so that none is missed; duplicates are dropped by their position.
 */
import { EVENT_HEADERS, EventWriter, HEARTBEAT, STREAM_HEARTBEAT_MS } from "./stream-events.ts";
import { SEQ_PER_MS } from "../../../domain/logs/log-key.ts";
import {
  comparePositions,
  matchesFilter,
  viewLine,
  type WorkerLogLine,
} from "../../../domain/logs/log-lines.ts";
import { LogProgress } from "../../../domain/logs/log-progress.ts";
import { logFailure } from "../../../management/failure-log.ts";
import { findLines, type LogSearch } from "../../../management/logs/log-reader.ts";
import { endpointObject } from "../../../management/objects.ts";
import type { Env } from "../../../env.ts";
import { LiveLines } from "./live-lines.ts";
import { PolledLines } from "./polled-lines.ts";
import { LOG_PAGE_MAX } from "../../../contract/agent/log.ts";
import { LOG_PAGE_MAX_BYTES } from "../../../domain/logs/log-collector.ts";

/** whole: all members of a line. plain: `{source, line, ts}`, each with an id that begins with `ts`. */
export type LineShape = "whole" | "plain";

/** What of a request its stream needs. */
export type LogFollower = {
  readonly env: Env;
  readonly req: {
    readonly raw: Request;
    readonly path: string;
    readonly header: (name: string) => string | undefined;
  };
  readonly executionCtx: Pick<ExecutionContext, "waitUntil">;
};

type StoredLines = { readonly lines: readonly WorkerLogLine[]; readonly progress: LogProgress };

/** Pages of missed lines that a client gets that reconnects after a long time. */
const MISSED_PAGES_MAX = 10;
/** Agents repeat what is not stored within their next exchange. */
const LATEST_WAIT_MS = 2_000;

/** The last lines and all later ones, or all after `Last-Event-ID`. Ends when the client goes. */
export async function followLogs(
  context: LogFollower,
  search: LogSearch,
  shape: LineShape,
): Promise<Response> {
  const live = isOfPod(search)
    ? new PolledLines(context.env.LOGS, search, context.req.raw.signal)
    : await openLive(context, search);
  try {
    const stored = await readStored(context, search);
    const { readable, writable } = new IdentityTransformStream();
    const write = writeLines(new EventWriter(writable), { stored, live, search, shape });
    context.executionCtx.waitUntil(
      write
        .catch((error: unknown) => logFailure("stream_failed", { path: context.req.path }, error))
        .finally(() => live.end()),
    );
    return new Response(readable, { headers: EVENT_HEADERS });
  } catch (error) {
    live.end();
    throw error;
  }
}

/** Lines that are not stored yet, as those of a worker that has just started; none when none come within a moment. */
export async function latestLines(
  context: Pick<LogFollower, "env" | "req">,
  search: LogSearch,
): Promise<readonly WorkerLogLine[]> {
  if (isOfPod(search)) return [];
  const live = await openLive(context, search);
  try {
    const lines = (await live.next(Date.now() + LATEST_WAIT_MS)) ?? [];
    return lines.filter((line) => matchesFilter(line, search.filter)).slice(-search.limit);
  } finally {
    live.end();
  }
}

/** Logs of a pod lie under its own id. */
function isOfPod({ owner, filter }: LogSearch): boolean {
  return owner.endpointId === filter.workerId;
}

async function openLive({ env, req }: Pick<LogFollower, "env" | "req">, { owner }: LogSearch) {
  return await LiveLines.open(endpointObject(env, owner.endpointId), req.raw.signal);
}

async function readStored(context: LogFollower, search: LogSearch): Promise<StoredLines> {
  const bucket = context.env.LOGS;
  const progress = LogProgress.read(context.req.header("Last-Event-ID") ?? "");
  if (progress) {
    const missed = await readMissed(bucket, { ...search, from: Math.max(search.from, progress.from) });
    return { progress, lines: missed };
  }
  const { lines, before } = await findLines(bucket, search);
  const floor = search.limit === 0 ? Date.now() * SEQ_PER_MS : ((before && lines[0]?.seq) ?? search.from);
  return { progress: new LogProgress(floor - 1), lines };
}

async function readMissed(bucket: R2Bucket, search: LogSearch): Promise<WorkerLogLine[]> {
  const lines: WorkerLogLine[] = [];
  let { before } = search;
  let length = 0;
  for (let page = 0; page < MISSED_PAGES_MAX && length < LOG_PAGE_MAX_BYTES / 2; page += 1) {
    const found = await findLines(bucket, { ...search, before, limit: LOG_PAGE_MAX });
    lines.push(...found.lines);
    for (const { line } of found.lines) length += line.length;
    if (!found.before) break;
    ({ before } = found);
  }
  return lines;
}

async function writeLines(
  events: EventWriter,
  follow: { stored: StoredLines; live: LiveLines | PolledLines; search: LogSearch; shape: LineShape },
): Promise<void> {
  const { live, search, shape } = follow;
  const { progress } = follow.stored;
  let { lines }: { lines: readonly WorkerLogLine[] | undefined } = follow.stored;
  let text = HEARTBEAT; // headers leave with the first byte
  let beatAt = Date.now() + STREAM_HEARTBEAT_MS;
  while (lines) {
    text += encodeLines(lines, progress, shape);
    if (text !== "") {
      if (!(await events.write(text))) return;
      beatAt = Date.now() + STREAM_HEARTBEAT_MS;
    }
    lines = (await live.next(beatAt))?.filter((line) => matchesFilter(line, search.filter));
    text = Date.now() >= beatAt ? HEARTBEAT : "";
  }
  await events.abort(); // the client resumes after the last event that it received
}

/** The lines that the reader lacks. An id holds its progress: that of each event, or of the last one. */
function encodeLines(lines: readonly WorkerLogLine[], progress: LogProgress, shape: LineShape): string {
  if (shape === "plain") {
    const inOrder = lines.toSorted(comparePositions);
    return inOrder.map((line) => progress.take([line]).map(() => encodePlain(line, progress))).join("");
  }
  const datas = progress.take(lines).map((line) => dataOf(viewLine(line)));
  const last = datas.pop();
  return last === undefined ? "" : `${datas.join("")}id: ${progress.write()}\n${last}`;
}

function encodePlain(line: WorkerLogLine, progress: LogProgress): string {
  const view = viewLine(line);
  const ts = new Date(view.at).toISOString();
  return `id: ${ts}/${progress.write()}\n${dataOf({ source: view.source, line: view.line, ts })}`;
}

function dataOf(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

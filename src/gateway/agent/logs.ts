/** Log lines from hosts. */
import { LOG_AHEAD_MAX_MS, logRetentionDays } from "../../management/logs/log-retention.ts";
import {
  type LogLine,
  type LogReply,
  logRequestSchema,
  type WorkerLines,
  LOG_UNPACKED_MAX_BYTES,
} from "../../contract/agent/log.ts";
import { type ErrorCode, hasErrorCode, ServiceError } from "../../contract/errors.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import { DAY_MS, SEQ_PER_MS, type LogOwner } from "../../domain/logs/log-key.ts";
import { readBytes, announcedLength } from "../../durable/request-body.ts";
import type { HostPrincipal } from "../../auth/host-principal.ts";
import type { Env } from "../../env.ts";
import type { WorkerOfEndpoint } from "../../fleet/messages.ts";
import { hasMoreValues } from "../../json/raw-json.ts";
import { storeLines } from "../../management/logs/log-writer.ts";
import { notJson, parseJson, validate } from "../body.ts";
import { resolveEndpoint } from "../../management/endpoints/endpoint-directory.ts";
import { endpointObject, fleetObject } from "../../management/objects.ts";
import type { AgentContext } from "./context.ts";

/** A host's clock that is ahead by less is taken as right. */
const LOG_CLOCK_AHEAD_MS = 5_000;

/** The same of one that is behind: a call may also have been on its way for so long, and its lines come once more. */
const LOG_CLOCK_BEHIND_MS = 60_000;

/** The compressed size of one body of log lines. */
const LOG_BODY_MAX_BYTES = 4_000_000;

/** A body could hold millions of values, which take a hundred times its memory. */
const LOG_VALUES_MAX = 1_000_000;

type OwnLines = { readonly owner: LogOwner; readonly workers: readonly WorkerLines[] };

/**
 * `POST /agent/v1/logs`: stores lines of the host's workers, or passes live ones on to followers. Lines of workers of
 * other hosts are rejected; lines of endpoints of other accounts are dropped.
 */
export async function receiveLogs(context: AgentContext): Promise<Response> {
  const receivedAt = Date.now();
  const request = validate(await readZipped(context.req.raw), logRequestSchema);
  const shift = clockShift(request.now, receivedAt);
  const isOwn = await ownWorkers(context.env, context.get("host"), request.workers);
  const refused = request.workers.filter((worker) => !isOwn(worker));
  const workers = request.workers
    .filter(isOwn)
    .map((one) => ({ ...one, lines: inTime(context, one.lines, shift) }));
  const own = await ownLines(context, workers);
  const follows = request.isLive ? await Promise.all(own.map((lines) => passOn(context, lines))) : [];
  if (!request.isLive) await Promise.all(own.map((lines) => store(context, lines, receivedAt)));
  const reply = { follows, ...(refused.length > 0 && { refused: refused.map(toRejected) }) };
  return context.json(reply satisfies LogReply);
}

function toRejected({ workerId }: WorkerLines): NonNullable<LogReply["refused"]>[number] {
  return { workerId, code: "worker_not_assigned" satisfies ErrorCode };
}

async function ownLines(context: AgentContext, workers: readonly WorkerLines[]): Promise<OwnLines[]> {
  const { accountId } = context.get("host");
  const byEndpoint = [...Map.groupBy(workers, ({ endpointId }) => endpointId)];
  const found = await Promise.all(
    byEndpoint.map(async ([endpointId, lines]) => {
      const owner = { accountId, endpointId };
      if (lines.every(isOfPod)) return { owner, workers: lines };
      const endpoint = await resolveEndpoint(context.env, accountId, endpointId).catch((error: unknown) => {
        if (hasErrorCode(error, "endpoint_not_found")) return undefined;
        throw error;
      });
      return endpoint && { owner, workers: lines };
    }),
  );
  return found.filter((lines) => lines !== undefined);
}

/** A pod runs on hosts of its own account only, and Fleet has said that it runs there. */
function isOfPod({ workerId, endpointId }: WorkerLines): boolean {
  return workerId === endpointId;
}

async function store({ env }: AgentContext, { owner, workers }: OwnLines, now: number): Promise<void> {
  for (const lines of workers) await storeLines(env, owner, lines, now);
}

async function passOn(
  { env }: AgentContext,
  { owner: { endpointId }, workers }: OwnLines,
): Promise<LogReply["follows"][number]> {
  const lines = workers.flatMap(({ workerId, lines }) => lines.map((line) => ({ ...line, workerId })));
  const known = Math.min(...workers.map(({ follow = Number.POSITIVE_INFINITY }) => follow));
  const { follow } = await endpointObject(env, endpointId).sendToFollowers(JSON.stringify(lines), known);
  return { endpointId, follow };
}

/**
 * The correction for a wrong clock of the host, in microseconds: whole seconds, so that repeated lines get the same
 * times again.
 */
function clockShift(hostNow: number, receivedAt: number): number {
  const wrongMs = receivedAt - hostNow;
  const isRight = wrongMs > -LOG_CLOCK_AHEAD_MS && wrongMs < LOG_CLOCK_BEHIND_MS;
  return isRight ? 0 : Math.round(wrongMs / 1_000) * 1_000 * SEQ_PER_MS;
}

/** Lines within retention and not in the future, where reads would not find them. */
function inTime({ env }: AgentContext, lines: readonly LogLine[], shift: number): LogLine[] {
  const now = Date.now();
  const [from, until] = [now - logRetentionDays(env) * DAY_MS, now + LOG_AHEAD_MAX_MS].map(
    (ms) => ms * SEQ_PER_MS,
  );
  return lines
    .map((line) => ({ ...line, seq: line.seq + shift }))
    .filter(({ seq }) => seq >= (from ?? 0) && seq < (until ?? 0));
}

/** A gzipped JSON body. */
async function readZipped(request: Request): Promise<unknown> {
  if ((announcedLength(request) ?? 0) > LOG_BODY_MAX_BYTES) throw tooLarge();
  if (!request.body) return undefined;
  const decoder = new TextDecoder();
  let text = "";
  let sizeBytes = 0;
  try {
    for await (const bytes of readBytes(request.body.pipeThrough(new DecompressionStream("gzip")))) {
      sizeBytes += bytes.byteLength;
      if (sizeBytes > LOG_UNPACKED_MAX_BYTES) throw tooLarge();
      text += decoder.decode(bytes, { stream: true });
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : notJson("it must be JSON text, compressed with gzip");
  }
  text += decoder.decode();
  if (hasMoreValues(text, LOG_VALUES_MAX))
    throw new ServiceError(
      "payload_too_large",
      `The body has more than ${LOG_VALUES_MAX} values. Send fewer lines at a time.`,
    );
  return parseJson(text);
}

function tooLarge(): ServiceError {
  return new ServiceError(
    "payload_too_large",
    `The lines have more than ${LOG_UNPACKED_MAX_BYTES / 1_000_000} MB. Send fewer at a time.`,
  );
}

const CACHE_SIZE = 50_000;

const cache = new BoundedMap<true>(CACHE_SIZE);

/** Tells of each worker whether Fleet has placed it on the host, now or recently. A worker never changes its host. */
export async function ownWorkers(
  env: Env,
  { hostId, accountId }: Pick<HostPrincipal, "hostId" | "accountId">,
  workers: readonly WorkerOfEndpoint[],
): Promise<(worker: WorkerOfEndpoint) => boolean> {
  const keyOf = ({ workerId, endpointId }: WorkerOfEndpoint) => `${hostId}/${endpointId}/${workerId}`;
  const unknown = workers.filter((worker) => !cache.get(keyOf(worker)));
  if (unknown.length > 0) {
    const requested = unknown.map(({ workerId, endpointId }) => ({ workerId, endpointId }));
    for (const worker of await fleetObject(env, accountId).recentWorkersOn(hostId, requested))
      cache.set(keyOf(worker), true);
  }
  return (worker) => cache.get(keyOf(worker)) ?? false;
}

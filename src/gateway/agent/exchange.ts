import {
  EXCHANGE_REQUEST_CUTS,
  rawExchangeRequestSchema,
  type RawExchangeRequest,
} from "../../contract/agent/agent.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { ServiceError } from "../../contract/errors.ts";
import { RESULT_MAX_BYTES } from "../../contract/limits.ts";
import type { Payload } from "../../domain/jobs/job-machine.ts";
import { hasPayload, openPayload, resultKey } from "../../durable/stored-payload.ts";
import type {
  Chunks,
  AttemptReport,
  Claim,
  ExchangeAnswer,
  ExchangeCall,
  RunningAttempt,
} from "../../endpoint/messages.ts";
import type { Env } from "../../env.ts";
import { validate, readCutJson } from "../body.ts";
import { awaitWakeUp } from "../wake-up.ts";
import { callEndpoint, callShard, resolveEndpoint } from "../../management/endpoints/endpoint-directory.ts";
import { settleCanary } from "../../management/endpoints/canary-verdict.ts";
import { endpointObject } from "../../management/objects.ts";
import { dropPayload, storePayload, type MeasuredPayload } from "../payloads.ts";
import { jsonResponse, mergeJson, spliceParts, type JsonPart } from "../spliced-json.ts";
import { holdWithin, type AgentContext } from "./context.ts";

/** One progress value, as JSON text. */
export const PROGRESS_MAX_BYTES = 256 * 1024;

/** The body of an exchange: EXCHANGE_REPORTS_MAX_BYTES, the running jobs with their progress, and some chunks. */
export const EXCHANGE_BODY_MAX_BYTES = 10_000_000;

type ChunkBatch = RawExchangeRequest["chunks"][number];
type RawReport = RawExchangeRequest["reports"][number];

const NOTHING: ExchangeAnswer = { acks: [], chunkAcks: [], jobs: [], stops: [] };

/** `POST /agent/v1/endpoints/<id>/exchange`: takes chunks and results, waits for jobs and stops, and answers with them. */
export async function exchange(context: AgentContext): Promise<Response> {
  const receivedAt = Date.now(); // before the body, which may take long to arrive
  const body = await readCutJson(context.req.raw, EXCHANGE_REQUEST_CUTS, EXCHANGE_BODY_MAX_BYTES);
  const { held, chunks, reports, holdMs, shard = 0, ...request } = validate(body, rawExchangeRequestSchema);
  const { hostId, accountId } = context.get("host");
  const endpoint = await resolveEndpoint(context.env, accountId, context.req.param("endpointId") ?? "");
  const call: ExchangeCall = {
    ...request,
    hostId,
    reports: await Promise.all(reports.map((report) => toReport(context.env, endpoint.endpointId, report))),
    chunks: chunks.map(toChunks),
    running: held.map((job) => toRunningAttempt(job, receivedAt)),
    isWaiting: holdMs > 0,
  };
  const answer = await awaitExchange(context, { endpoint, shard }, call, holdWithin(context, holdMs));
  if (answer.canary) {
    const settled = settleCanary(context.env, endpoint, answer.canary, receivedAt);
    context.executionCtx.waitUntil(settled);
  }
  return jsonResponse(context, await answerParts(context.env.PAYLOADS, answer));
}

type ShardOfEndpoint = { readonly endpoint: EndpointConfig; readonly shard: number };

/** Waits in two phases: inside the object while it is busy, on a wake-up channel when it is quiet. */
async function awaitExchange(
  context: AgentContext,
  { endpoint, shard }: ShardOfEndpoint,
  first: ExchangeCall,
  holdMs: number,
): Promise<ExchangeAnswer> {
  const { signal } = context.req.raw;
  const untilAt = Date.now() + holdMs;
  const { hostId: host, session } = first;
  let call: ExchangeCall = first;
  for (;;) {
    const reply = await callExchange(context.env, { endpoint, shard }, call);
    if (reply.kind === "answer") return reply;
    const { at } = reply;
    if (reply.kind === "superseded") return { ...NOTHING, at };
    const { free, terms } = reply;
    const follow = first.follow === undefined ? undefined : { follow: `${first.follow}` };
    const shards = first.shards === undefined ? undefined : { shards: `${first.shards}` };
    const channel = { host, session, turn: `${first.turn}`, free: `${free}`, terms, ...follow, ...shards };
    const wakeUp = await awaitWakeUp(
      endpointObject(context.env, endpoint.endpointId, shard),
      channel,
      untilAt,
      signal,
    );
    if (wakeUp !== "look" || Date.now() >= untilAt) return { ...NOTHING, at };
    call = { ...call, reports: [], chunks: [], isRepeated: true };
  }
}

/** A shard without a configuration has no jobs, and no agent has any business there. */
async function callExchange(env: Env, { endpoint, shard }: ShardOfEndpoint, call: ExchangeCall) {
  if (shard === 0) return await callEndpoint(env, endpoint, (stub) => stub.exchange(call));
  const reply = await callShard(env, endpoint, shard, (stub) => stub.exchange(call));
  if (reply) return reply;
  throw new ServiceError("endpoint_not_found", `Endpoint ${endpoint.endpointId} has no shard ${shard}.`);
}

function toRunningAttempt(
  { jobId, attempt, progress, ago }: RawExchangeRequest["held"][number],
  receivedAt: number,
): RunningAttempt {
  return {
    jobId,
    attempt,
    progressJson: progress && progress.sizeBytes <= PROGRESS_MAX_BYTES ? progress.json : null,
    ...(ago?.handlerStarted !== undefined && { handlerStartedAt: receivedAt - ago.handlerStarted }),
    ...(ago?.handlerFinished !== undefined && { handlerFinishedAt: receivedAt - ago.handlerFinished }),
  };
}

function toChunks({ jobId, attempt, from, outputs, error }: ChunkBatch): Chunks {
  const fragments = outputs.map(({ json, sizeBytes }) => ({ json, sizeBytes }));
  return { jobId, attempt, from, outputs: fragments, ...(error !== undefined && { error }) };
}

// Reports

async function toReport(env: Env, endpointId: string, report: RawReport): Promise<AttemptReport> {
  if (report.kind !== "completed" && report.kind !== "failed") return report;
  const { jobId, attempt } = report;
  const output = await storeOutput(env, endpointId, report);
  if (report.kind === "failed") return { kind: "failed", jobId, attempt, error: report.error, output };
  if (!output || output.sizeBytes <= RESULT_MAX_BYTES) return { kind: "completed", jobId, attempt, output };
  await dropPayload(env.PAYLOADS, output);
  return { kind: "failed", jobId, attempt, error: tooLarge(output.sizeBytes), output: null };
}

async function storeOutput(
  env: Env,
  endpointId: string,
  { jobId, attempt, output, upload }: Extract<RawReport, { readonly kind: "completed" | "failed" }>,
): Promise<MeasuredPayload | null> {
  if (upload) return { kind: "stored", key: resultKey(endpointId, jobId, attempt), ...upload };
  return output === undefined ? null : storePayload(env.PAYLOADS, endpointId, output);
}

function tooLarge(sizeBytes: number): string {
  return (
    `The handler's result has ${sizeBytes} bytes; at most ${RESULT_MAX_BYTES} are stored. ` +
    "Return less, or store the data elsewhere and return its URL."
  );
}

// Answers

async function answerParts(bucket: R2Bucket, { jobs, ...answer }: ExchangeAnswer): Promise<JsonPart[]> {
  const { at, acks, chunkAcks, stops, follow, shards } = answer;
  const parts = await Promise.all(jobs.map((job) => jobParts(bucket, job)));
  const encoded = parts.flatMap((ofJob, index) => [index === 0 ? "" : ",", ...ofJob]);
  return spliceParts({ at, acks, chunkAcks, stops, follow, shards }, "jobs", ["[", ...encoded, "]"]);
}

/** The error of a job whose input is gone; its agent reports it, and no worker gets the job without its input. */
const INPUT_GONE = "The input of this job is no longer stored. Submit the job again.";

async function jobParts(bucket: R2Bucket, job: Claim): Promise<JsonPart[]> {
  const { jobId, attempt, workerId, executionTimeoutMs, optionsJson } = job;
  const input = await inputPart(bucket, job.input);
  const error = input === undefined ? { error: INPUT_GONE } : {};
  const members = mergeJson({ id: jobId, attempt, workerId, executionTimeoutMs, ...error }, optionsJson);
  return spliceParts(members, "input", [input ?? "null"]);
}

/** Undefined when it is gone. It is opened in its turn: only a few answers of R2 may be open and unread at a time. */
async function inputPart(bucket: R2Bucket, input: Payload): Promise<JsonPart | undefined> {
  if (input.kind === "inline") return input.json;
  if (!(await hasPayload(bucket, input))) return undefined;
  const open = async () => {
    const stream = await openPayload(bucket, input);
    if (!stream) throw new Error("The input was removed meanwhile."); // the agent sees the answer break off
    return stream;
  };
  return { sizeBytes: input.sizeBytes, open };
}

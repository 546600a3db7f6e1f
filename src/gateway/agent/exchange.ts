import {
  EXCHANGE_REQUEST_CUTS,
  rawExchangeRequestSchema,
  type RawExchangeRequest,
} from "../../contract/agent/agent.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { RESULT_MAX_BYTES } from "../../contract/limits.ts";
import { resultKey } from "../../durable/stored-payload.ts";
import type {
  Chunks,
  AttemptReport,
  DispatchedJob,
  ExchangeAnswer,
  ExchangeCall,
  RunningAttempt,
} from "../../endpoint/messages.ts";
import type { Env } from "../../env.ts";
import { validate, readCutJson } from "../body.ts";
import { awaitWakeUp } from "../wake-up.ts";
import { callEndpoint, resolveEndpoint } from "../../management/endpoints/endpoint-directory.ts";
import { endpointObject } from "../../management/objects.ts";
import { dropPayload, storePayload, type MeasuredPayload } from "../payloads.ts";
import { jsonResponse, mergeJson, spliceParts, storedPart, type JsonPart } from "../spliced-json.ts";
import { holdWithin, type AgentContext } from "./context.ts";

/** One progress value, as JSON text. */
export const PROGRESS_MAX_BYTES = 256 * 1024;

/** An exchange of an agent: EXCHANGE_REPORTS_MAX_BYTES, the held jobs with their progress, and some chunks. */
export const EXCHANGE_BODY_MAX_BYTES = 10_000_000;

type LeaseReport = RawExchangeRequest["held"][number];
type ChunkBatch = RawExchangeRequest["chunks"][number];
type RawReport = RawExchangeRequest["reports"][number];

const NOTHING: ExchangeAnswer = { acks: [], chunkAcks: [], jobs: [], stops: [] };

/** `POST /agent/v1/endpoints/<id>/exchange`: chunks and results in; jobs and stops out, held until there are some. */
export async function exchange(context: AgentContext): Promise<Response> {
  const receivedAt = Date.now(); // before the body, which may take long to come
  const body = await readCutJson(context.req.raw, EXCHANGE_REQUEST_CUTS, EXCHANGE_BODY_MAX_BYTES);
  const request = validate(body, rawExchangeRequestSchema);
  const { hostId, accountId } = context.get("host");
  const endpoint = await resolveEndpoint(context.env, accountId, context.req.param("endpointId") ?? "");
  const reports = await Promise.all(
    request.reports.map((report) => toReport(context.env, endpoint.endpointId, report)),
  );
  const call = toCall(request, hostId, reports, receivedAt);
  const answer = await awaitExchange(context, endpoint, {
    ...call,
    holdMs: holdWithin(context, call.holdMs),
  });
  return jsonResponse(context, answerParts(context.env.PAYLOADS, answer));
}

/** Waits in two phases: inside the object while it is hot, on a doorbell when it is quiet. */
async function awaitExchange(
  context: AgentContext,
  endpoint: EndpointConfig,
  { holdMs, ...first }: ExchangeCall & { readonly holdMs: number },
): Promise<ExchangeAnswer> {
  const { signal } = context.req.raw;
  const untilAt = Date.now() + holdMs;
  const { hostId: host, session } = first;
  let call: ExchangeCall = first;
  for (;;) {
    const reply = await callEndpoint(context.env, endpoint, (stub) => stub.exchange(call));
    if (reply.kind === "answer") return reply;
    if (reply.kind === "superseded") return NOTHING;
    const { free, terms } = reply;
    const follow = first.follow === undefined ? undefined : { follow: `${first.follow}` };
    const channel = { host, session, turn: `${first.turn}`, free: `${free}`, terms, ...follow };
    const wakeUp = await awaitWakeUp(
      endpointObject(context.env, endpoint.endpointId),
      channel,
      untilAt,
      signal,
    );
    if (wakeUp !== "look" || Date.now() >= untilAt) return NOTHING;
    call = { ...call, reports: [], chunks: [] };
  }
}

function toCall(
  { holdMs, held, chunks, ...request }: RawExchangeRequest,
  hostId: string,
  reports: readonly AttemptReport[],
  receivedAt: number,
): ExchangeCall & { readonly holdMs: number } {
  return {
    ...request,
    hostId,
    reports,
    chunks: chunks.map(toChunks),
    running: held.map((job) => toLease(job, receivedAt)),
    isWaiting: holdMs > 0,
    holdMs,
  };
}

function toLease({ jobId, attempt, progress, ago }: LeaseReport, receivedAt: number): RunningAttempt {
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
  const { jobId, attempt } = report;
  switch (report.kind) {
    case "timed_out":
      return { kind: "timed_out", jobId, attempt };
    case "lost":
      return { kind: "lost", jobId, attempt, reason: report.reason };
    case "failed":
      return {
        kind: "failed",
        jobId,
        attempt,
        error: report.error,
        output: await storeOutput(env, endpointId, report),
      };
    case "completed": {
      const output = await storeOutput(env, endpointId, report);
      if (output && output.sizeBytes > RESULT_MAX_BYTES) {
        await dropPayload(env.PAYLOADS, output);
        return { kind: "failed", jobId, attempt, error: tooLarge(output.sizeBytes), output: null };
      }
      return { kind: "completed", jobId, attempt, output };
    }
  }
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
    `The handler's result has ${sizeBytes} bytes; at most ${RESULT_MAX_BYTES} are kept. ` +
    "Return less, or store the data elsewhere and return its address."
  );
}

// Answers

function answerParts(bucket: R2Bucket, { jobs, ...answer }: ExchangeAnswer): JsonPart[] {
  const { acks, chunkAcks, stops, follow } = answer;
  const encoded = jobs.flatMap((job, index) => [index === 0 ? "" : ",", ...jobParts(bucket, job)]);
  return spliceParts({ acks, chunkAcks, stops, follow }, "jobs", ["[", ...encoded, "]"]);
}

function jobParts(bucket: R2Bucket, job: DispatchedJob): JsonPart[] {
  const { jobId, attempt, workerId, executionTimeoutMs, optionsJson } = job;
  const input = job.input.kind === "inline" ? job.input.json : storedPart(bucket, job.input);
  const members = mergeJson({ id: jobId, attempt, workerId, executionTimeoutMs }, optionsJson);
  return spliceParts(members, "input", [input]);
}

/** An answer in one piece, sent when the job has ended. */
import { JsonCountError } from "../../../json/json-tokens.ts";
import { TTL_MAX_MS } from "../../../contract/limits.ts";
import type { Payload } from "../../../domain/jobs/job-machine.ts";
import type { JobView } from "../../../contract/job.ts";
import { answerOf, answerOfChunks } from "../../../domain/openai/openai-answer.ts";
import {
  errorOfJob,
  errorInJson,
  JOB_EXPIRED,
  NO_ANSWER,
  TOO_MANY_ELEMENTS,
} from "../../../domain/openai/openai-error-details.ts";
import { openPayload } from "../../../durable/stored-payload.ts";
import { hasErrorCode } from "../../../contract/errors.ts";
import { OpenaiJobError } from "../../errors.ts";
import type { QueueContext } from "../context.ts";
import type { SlottedView } from "../../../endpoint/messages.ts";
import { waitForJob } from "../jobs/job-answer.ts";
import { AnswerChunks } from "./answer-chunks.ts";

/** Waits as long as the client does. */
export async function answerWhole(context: QueueContext, submitted: SlottedView): Promise<Response> {
  const view = submitted.isFinal ? submitted.view : await endOf(context, submitted);
  return context.body(await answerOfEnd(context, view), 200, { "Content-Type": "application/json" });
}

/** The answer of a job that has ended, as JSON text; throws the error of a failed one. */
export async function answerOfEnd(context: QueueContext, view: JobView<Payload | null>): Promise<string> {
  if (view.status !== "COMPLETED") throw new OpenaiJobError(errorOfJob(view));
  const output = view.output ? await readOutput(context, view.output) : undefined;
  const isBare = output !== undefined && /^\[\s*\]$/.test(output);
  const answer = readable(isBare ? await yieldedBy(context, view.id) : output);
  if (answer === undefined) throw new OpenaiJobError(NO_ANSWER);
  const details = errorInJson(answer);
  if (details) throw new OpenaiJobError(details);
  return answer;
}

function readable(output: string | readonly string[] | undefined): string | undefined {
  try {
    return typeof output === "object" ? answerOfChunks(output) : answerOf(output);
  } catch (error) {
    throw error instanceof JsonCountError ? new OpenaiJobError(TOO_MANY_ELEMENTS) : error;
  }
}

async function endOf(context: QueueContext, submitted: SlottedView): Promise<JobView<Payload | null>> {
  try {
    return await waitForJob(context, submitted.view.id, Date.now() + TTL_MAX_MS, submitted);
  } catch (error) {
    throw hasErrorCode(error, "job_not_found") ? new OpenaiJobError(JOB_EXPIRED) : error;
  }
}

async function readOutput({ env }: QueueContext, output: Payload): Promise<string> {
  if (output.kind === "inline") return output.json;
  const stream = await openPayload(env.PAYLOADS, output);
  if (!stream) throw new OpenaiJobError(JOB_EXPIRED);
  return await new Response(stream).text();
}

/** The outputs of a handler whose worker does not aggregate them. */
async function yieldedBy(context: QueueContext, jobId: string): Promise<string[]> {
  const chunks = new AnswerChunks(context, jobId, null);
  const outputs: string[] = [];
  for (let step = await chunks.next(); step.kind === "chunks"; step = await chunks.next()) {
    outputs.push(...step.outputs);
  }
  return outputs;
}

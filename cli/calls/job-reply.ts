/** What the service says of a job, as far as a local call needs it. */
import * as z from "zod";
import { MISSING_MODULES_ERROR } from "../../src/contract/flash/flash-live.ts";

const jobSchema = z.looseObject({
  id: z.string(),
  status: z.enum(["IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"]),
  workerId: z.string().optional(),
  delayTime: z.number().optional(),
  executionTime: z.number().optional(),
  error: z.unknown().optional(),
  queue: z.looseObject({ reason: z.string(), detail: z.string().optional() }).optional(),
});
/** What is read of a job, and the text of the service in which it stands. */
export type JobReply = z.infer<typeof jobSchema> & { readonly json: string };

const jobErrorSchema = z.looseObject({
  error_type: z.string(),
  error_message: z.string(),
  error_traceback: z.string().optional(),
});
export type JobError = z.infer<typeof jobErrorSchema>;

/** Nothing where it is no job. */
export function parseJobReply(json: string): JobReply | undefined {
  const { data } = jobSchema.safeParse(parsed(json));
  return data && { ...data, json };
}

/** The answer with this job, as the service wrote it. */
export function answerWith({ json }: JobReply): Response {
  return new Response(json, { headers: { "Content-Type": "application/json" } });
}

export function isFinal({ status }: JobReply): boolean {
  return status !== "IN_QUEUE" && status !== "IN_PROGRESS";
}

/** Why a job failed: as the runtime tells it, or as plain text. */
export function errorOf({ status, error }: JobReply): JobError {
  const message = typeof error === "string" ? error : JSON.stringify(error ?? status);
  const structured = jobErrorSchema.safeParse(parsed(message));
  return structured.success ? structured.data : { error_type: status, error_message: message };
}

export function lacksModules(job: JobReply): boolean {
  return job.status === "FAILED" && errorOf(job).error_type === MISSING_MODULES_ERROR;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Jobs of live endpoints: submitted, and followed to their end. */
import { errorMessage } from "../../src/std/errors.ts";
import { parseJson } from "../../src/std/json.ts";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../src/std/failure.ts";
import { Interruption } from "../core/interruption.ts";
import { type CallLine, CallFailure, type QueueCall, type JobJson } from "../server/requests/served-app.ts";
import { jobBody } from "../server/requests/request-body.ts";
import type { Service } from "../service/service.ts";
import * as z from "zod";
import { WIRE_STATUSES } from "../../src/contract/job-status.ts";
import { MISSING_MODULES_ERROR } from "../../src/contract/flash/flash-live.ts";

/** Limit of a long poll: the service answers when the job has ended, or after this time. */
const POLL_MS = 1_000;
/** How long requests are retried while the service does not answer: it may be restarting. */
const OUTAGE_MS = 60_000;
const OUTAGE_PAUSE_MS = 500;
/** How long a job whose caller does not wait is followed for its line in the log. */
const WATCH_MS = 60 * 60_000;
const TOO_MANY_REQUESTS = 429;

export type JobCallsSettings = {
  readonly service: Service;
  /** Aborts when the command ends. */
  readonly signal: AbortSignal;
  /** Called when a worker runs a job that is followed. */
  readonly onWorker: (endpointId: string, workerId: string, line: CallLine) => void;
};

export class JobCalls {
  readonly #settings: JobCallsSettings;

  constructor(settings: JobCallsSettings) {
    this.#settings = settings;
  }

  /**
   * Submits a job exactly once, also with retries; with `runsync` it may already have ended. Returns the error response
   * of the service if it accepts no job.
   */
  async submit(
    endpointId: string,
    job: JobJson,
    { operation, headers, signal }: Pick<QueueCall, "operation" | "headers" | "signal">,
    line: CallLine,
  ): Promise<FollowedJob | Response> {
    const path = `/v2/${endpointId}/${operation === "run" ? "run" : `runsync?wait=${POLL_MS}`}`;
    const { response, text } = await this.#requestWithRetry(line, signal, path, {
      method: "POST",
      headers: { "idempotency-key": randomUUID(), ...headers, ...jsonHeaders() },
      body: jobBody(job),
    });
    const submitted = response.ok ? parseJob(text) : undefined;
    return submitted ?? new Response(text, { status: response.status, headers: jsonHeaders() });
  }

  /** Polls a job until it has ended, or for `followMs`; shows its progress in `line`. */
  async follow(
    endpointId: string,
    submitted: FollowedJob,
    {
      line,
      signal,
      followMs,
    }: { readonly line: CallLine; readonly signal: AbortSignal; readonly followMs: number },
  ): Promise<FollowedJob> {
    const endAt = performance.now() + followMs;
    let job = submitted;
    while (true) {
      this.#report(endpointId, job, line);
      if (isFinal(job) || performance.now() > endAt) return job;
      job = await this.#poll(endpointId, job, line, signal);
    }
  }

  /** Follows a job whose caller does not wait, and ends its line. */
  async watch(endpointId: string, submitted: FollowedJob, line: CallLine): Promise<void> {
    const { signal } = this.#settings;
    try {
      endLine(line, await this.follow(endpointId, submitted, { line, signal, followMs: WATCH_MS }));
    } catch (error) {
      if (!signal.aborted) line.fail(errorMessage(error));
    }
  }

  /** Forwards any other operation unchanged, and ends its line. */
  async forward(
    endpointId: string,
    { operation, jobId, search, headers, signal }: QueueCall,
    line: CallLine,
  ): Promise<Response> {
    const startedAt = performance.now();
    const path = [operation, ...(jobId === undefined ? [] : [encodeURIComponent(jobId)])].join("/");
    const method = ["cancel", "retry", "purge-queue"].includes(operation) ? "POST" : "GET";
    const target = `/v2/${endpointId}/${path}${search}`;
    const response = await this.#settings.service.request(target, { method, headers, signal });
    line.done({ ranMs: performance.now() - startedAt });
    return response;
  }

  #report(endpointId: string, job: FollowedJob, line: CallLine): void {
    if (job.queue !== undefined) line.waiting(job.queue.detail ?? job.queue.reason);
    if (job.status === "IN_PROGRESS" && job.workerId) this.#settings.onWorker(endpointId, job.workerId, line);
  }

  async #poll(
    endpointId: string,
    job: FollowedJob,
    line: CallLine,
    signal: AbortSignal,
  ): Promise<FollowedJob> {
    const path = `/v2/${endpointId}/status-sync/${encodeURIComponent(job.id)}?wait=${POLL_MS}`;
    const { response, text } = await this.#requestWithRetry(line, signal, path);
    const seen = response.ok ? parseJob(text) : undefined;
    if (seen !== undefined) return seen;
    if (response.status !== TOO_MANY_REQUESTS) throw jobNotFound(job, text);
    await delay(OUTAGE_PAUSE_MS, undefined, { signal });
    return job;
  }

  /** Retries until the service has answered, since it may be restarting; throws the last error after a minute. */
  async #requestWithRetry(
    line: CallLine,
    signal: AbortSignal,
    path: string,
    init: RequestInit = {},
  ): Promise<{ readonly response: Response; readonly text: string }> {
    const giveUpAt = performance.now() + OUTAGE_MS;
    while (true) {
      const isLast = performance.now() > giveUpAt;
      try {
        const response = await this.#settings.service.request(path, { ...init, signal });
        const text = await response.text();
        if (response.status < 500 || isLast) return { response, text };
        line.waiting(`the service answers with HTTP ${response.status}; retrying`);
      } catch (error) {
        signal.throwIfAborted();
        if (isLast || error instanceof Interruption) throw error;
        line.waiting(`${error instanceof Failure ? error.message : "The connection was lost."} Retrying.`);
      }
      await delay(OUTAGE_PAUSE_MS, undefined, { signal });
    }
  }
}

/** Ends the line of a call whose job the service does not accept. */
export async function endRejected(line: CallLine, response: Response): Promise<void> {
  line.fail(`the service rejected the job: ${(await response.clone().text()).slice(0, 500)}`);
}

/** Ends the line of a call with the result of its job. */
export function endLine(line: CallLine, job: FollowedJob): void {
  if (job.status === "COMPLETED") {
    line.done({ ranMs: job.executionTime, queuedMs: job.delayTime });
    return;
  }
  if (!isFinal(job)) {
    line.fail(`${job.status}: no longer followed; its id is ${job.id}`);
    return;
  }
  const { error_type, error_message, error_traceback } = errorOf(job);
  line.fail(`${error_type}: ${error_message}`, error_traceback);
}

function jobNotFound(job: FollowedJob, text: string): CallFailure {
  return new CallFailure(502, `Job ${job.id} can no longer be read: ${text.slice(0, 500)}`);
}

function jsonHeaders(): Record<string, string> {
  return { "Content-Type": "application/json" };
}

export const jobSchema = z.looseObject({
  id: z.string(),
  status: z.enum(WIRE_STATUSES),
  workerId: z.string().optional(),
  delayTime: z.number().optional(),
  executionTime: z.number().optional(),
  error: z.unknown().optional(),
  queue: z.looseObject({ reason: z.string(), detail: z.string().optional() }).optional(),
});
/** The members that are read of a job, and the JSON of the service. */
export type FollowedJob = z.infer<typeof jobSchema> & { readonly json: string };

const jobErrorSchema = z.looseObject({
  error_type: z.string(),
  error_message: z.string(),
  error_traceback: z.string().optional(),
});
type JobError = z.infer<typeof jobErrorSchema>;

/** Undefined where it is not a job. */
function parseJob(json: string): FollowedJob | undefined {
  const { data } = jobSchema.safeParse(parseJson(json));
  return data && { ...data, json };
}

/** A response with the job exactly as the service sent it. */
export function answerWith({ json }: FollowedJob): Response {
  return new Response(json, { headers: { "Content-Type": "application/json" } });
}

export function isFinal({ status }: Pick<FollowedJob, "status">): boolean {
  return status !== "IN_QUEUE" && status !== "IN_PROGRESS";
}

/** Why a job failed: the structured error of the runtime, or a plain message. */
export function errorOf({ status, error }: Pick<FollowedJob, "status" | "error">): JobError {
  const message = typeof error === "string" ? error : JSON.stringify(error ?? status);
  const structured = jobErrorSchema.safeParse(parseJson(message));
  return structured.success ? structured.data : { error_type: status, error_message: message };
}

export function lacksModules(job: FollowedJob): boolean {
  return job.status === "FAILED" && errorOf(job).error_type === MISSING_MODULES_ERROR;
}

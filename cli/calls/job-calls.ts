/** Jobs of live endpoints: submitted, and followed to their end. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../core/failure.ts";
import { Interruption } from "../core/interruption.ts";
import type { CallLine } from "../server/requests/call-log.ts";
import { jobBody, type JobJson } from "../server/requests/job-json.ts";
import { CallFailure, type QueueCall } from "../server/requests/served-app.ts";
import type { Service } from "../service/service.ts";
import { errorOf, isFinal, type JobReply, parseJobReply } from "./job-reply.ts";

/** Of the service: it answers when the job is over, or else after this. */
const POLL_MS = 1_000;
/** For which a service that does not answer is asked again: it may be started anew. */
const OUTAGE_MS = 60_000;
const OUTAGE_PAUSE_MS = 500;
const TOO_MANY_REQUESTS = 429;

/** A job that was answered for, or what the service answered instead. */
export type Submitted = { readonly job: JobReply } | { readonly errorResponse: Response };

export class JobCalls {
  readonly #service: Service;
  readonly #onWorker: (endpointId: string, workerId: string, line: CallLine) => void;

  constructor(service: Service, onWorker: (endpointId: string, workerId: string, line: CallLine) => void) {
    this.#service = service;
    this.#onWorker = onWorker;
  }

  /** Submits a job, once whatever happens on the way; with `runsync` it may be over by then. */
  async submit(
    endpointId: string,
    operation: "run" | "runsync",
    job: JobJson,
    { headers, signal }: Pick<QueueCall, "headers" | "signal">,
    line: CallLine,
  ): Promise<Submitted> {
    const search = operation === "runsync" ? `?wait=${POLL_MS}` : "";
    const { response, text } = await this.#requestWithRetry(
      line,
      signal,
      `/v2/${endpointId}/${operation}${search}`,
      {
        method: "POST",
        headers: { "idempotency-key": randomUUID(), ...headers, ...jsonHeaders() },
        body: jobBody(job),
      },
    );
    const reply = response.ok ? parseJobReply(text) : undefined;
    if (reply !== undefined) return { job: reply };
    return { errorResponse: new Response(text, { status: response.status, headers: jsonHeaders() }) };
  }

  /** Looks at a job until it is over, or until `followMs` have gone; tells `line` how it goes on. */
  async follow(
    endpointId: string,
    submitted: JobReply,
    {
      line,
      signal,
      followMs,
    }: { readonly line: CallLine; readonly signal: AbortSignal; readonly followMs: number },
  ): Promise<JobReply> {
    const endAt = performance.now() + followMs;
    let job = submitted;
    while (true) {
      this.#report(endpointId, job, line);
      if (isFinal(job) || performance.now() > endAt) return job;
      job = await this.#poll(endpointId, job, line, signal);
    }
  }

  /** Any other operation, passed on as it is. */
  async forward(
    endpointId: string,
    { operation, jobId, search, headers, signal }: QueueCall,
  ): Promise<Response> {
    const path = [operation, ...(jobId === undefined ? [] : [encodeURIComponent(jobId)])].join("/");
    const isChange = ["cancel", "retry", "purge-queue"].includes(operation);
    return await this.#service.request(`/v2/${endpointId}/${path}${search}`, {
      method: isChange ? "POST" : "GET",
      headers,
      signal,
    });
  }

  #report(endpointId: string, job: JobReply, line: CallLine): void {
    if (job.queue !== undefined) line.waiting(job.queue.detail ?? job.queue.reason);
    if (job.status === "IN_PROGRESS" && job.workerId) this.#onWorker(endpointId, job.workerId, line);
  }

  async #poll(endpointId: string, job: JobReply, line: CallLine, signal: AbortSignal): Promise<JobReply> {
    const path = `/v2/${endpointId}/status-sync/${encodeURIComponent(job.id)}?wait=${POLL_MS}`;
    const { response, text } = await this.#requestWithRetry(line, signal, path);
    const seen = response.ok ? parseJobReply(text) : undefined;
    if (seen !== undefined) return seen;
    if (response.status !== TOO_MANY_REQUESTS) throw jobNotFound(job, text);
    await delay(OUTAGE_PAUSE_MS, undefined, { signal });
    return job;
  }

  /** Asks until the service has answered, for it may be started anew at any time; then says why it does not. */
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
        const response = await this.#service.request(path, { ...init, signal });
        const text = await response.text();
        if (response.status < 500 || isLast) return { response, text };
        line.waiting(`the service answers with HTTP ${response.status}; it is asked again`);
      } catch (error) {
        signal.throwIfAborted();
        if (isLast || error instanceof Interruption) throw error;
        line.waiting(
          `${error instanceof Failure ? error.message : "The connection broke off."} It is asked again.`,
        );
      }
      await delay(OUTAGE_PAUSE_MS, undefined, { signal });
    }
  }
}

/** Ends the line of a call whose job is over. */
export function endLine(line: CallLine, job: JobReply): void {
  if (job.status === "COMPLETED") {
    line.done({ ranMs: job.executionTime, queuedMs: job.delayTime });
    return;
  }
  if (!isFinal(job)) {
    line.fail(`${job.status}: nobody waits for it any more; its id is ${job.id}`);
    return;
  }
  const { error_type, error_message, error_traceback } = errorOf(job);
  line.fail(`${error_type}: ${error_message}`, error_traceback);
}

function jobNotFound(job: JobReply, text: string): CallFailure {
  return new CallFailure(502, `Job ${job.id} cannot be looked at any more: ${text.slice(0, 500)}`);
}

function jsonHeaders(): Record<string, string> {
  return { "Content-Type": "application/json" };
}

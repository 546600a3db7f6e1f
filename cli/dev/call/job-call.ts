/** Jobs of live endpoints: submitted, and followed to their end. */
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../failure.ts";
import type { CallLine } from "../../server/call-log.ts";
import { CallFailure, type QueueCall } from "../../server/served-app.ts";
import type { Service } from "../../service/service.ts";
import { errorOf, isFinal, type JobReply, readJob } from "./job-reply.ts";

/** Of the service: it answers when the job is over, or else after this. */
const LOOK_MS = 1_000;
/** For which a service that does not answer is asked again: it may be started anew. */
const OUTAGE_MS = 60_000;
const OUTAGE_PAUSE_MS = 500;

/** A job that was answered for, or what the service answered instead. */
export type Submitted = { readonly job: JobReply } | { readonly refusal: Response };

export class JobCalls {
  readonly #service: Service;
  readonly #runsOn: (endpointId: string, workerId: string, line: CallLine) => void;

  constructor(service: Service, runsOn: (endpointId: string, workerId: string, line: CallLine) => void) {
    this.#service = service;
    this.#runsOn = runsOn;
  }

  /** Submits a job; with `runsync` it may be over by then. */
  async submit(
    endpointId: string,
    operation: "run" | "runsync",
    body: Readonly<Record<string, unknown>>,
    { headers, signal }: Pick<QueueCall, "headers" | "signal">,
  ): Promise<Submitted> {
    const search = operation === "runsync" ? `?wait=${LOOK_MS}` : "";
    const response = await this.#service.request(`/v2/${endpointId}/${operation}${search}`, {
      method: "POST",
      headers: { ...headers, ...jsonHeaders() },
      body: JSON.stringify(body),
      signal,
    });
    const text = await response.text();
    const job = response.ok ? readJob(JSON.parse(text)) : undefined;
    if (job !== undefined) return { job };
    return { refusal: new Response(text, { status: response.status, headers: jsonHeaders() }) };
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
      this.#tell(endpointId, job, line);
      if (isFinal(job) || performance.now() > endAt) return job;
      job = await this.#look(endpointId, job, line, signal);
    }
  }

  /** Any other operation, passed on as it is. */
  async pass(
    endpointId: string,
    { operation, jobId, body, search, headers, signal }: QueueCall,
  ): Promise<Response> {
    const path = [operation, ...(jobId === undefined ? [] : [encodeURIComponent(jobId)])].join("/");
    const isChange = ["cancel", "retry", "purge-queue"].includes(operation);
    return await this.#service.request(`/v2/${endpointId}/${path}${search}`, {
      method: isChange ? "POST" : "GET",
      headers: { ...headers, ...(body === undefined ? {} : jsonHeaders()) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
    });
  }

  #tell(endpointId: string, job: JobReply, line: CallLine): void {
    if (job.queue !== undefined) line.waiting(job.queue.detail ?? job.queue.reason);
    if (job.status === "IN_PROGRESS" && job.workerId) this.#runsOn(endpointId, job.workerId, line);
  }

  async #look(endpointId: string, job: JobReply, line: CallLine, signal: AbortSignal): Promise<JobReply> {
    const giveUpAt = performance.now() + OUTAGE_MS;
    while (true) {
      try {
        const path = `/v2/${endpointId}/status-sync/${encodeURIComponent(job.id)}?wait=${LOOK_MS}`;
        const response = await this.#service.request(path, { signal });
        const text = await response.text();
        const seen = response.ok ? readJob(JSON.parse(text)) : undefined;
        if (seen !== undefined) return seen;
        if (response.status !== 429 && response.status < 500) throw gone(job, text);
      } catch (error) {
        if (!(error instanceof Failure) || performance.now() > giveUpAt) throw error;
        line.waiting(`${error.message} Trying again.`);
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

function gone(job: JobReply, text: string): CallFailure {
  return new CallFailure(502, `Job ${job.id} cannot be looked at any more: ${text.slice(0, 500)}`);
}

function jsonHeaders(): Record<string, string> {
  return { "Content-Type": "application/json" };
}

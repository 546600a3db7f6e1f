/** Jobs of live endpoints. */
import type { CallLine } from "../../server/call-log.ts";
import type { JobText } from "../../server/job-text.ts";
import type { QueueCall } from "../../server/served-app.ts";
import type { CallParts } from "./call-parts.ts";
import { GpuNames } from "./gpu-names.ts";
import { endLine, JobCalls } from "./job-call.ts";
import { answerWith, type JobReply, lacksModules } from "./job-reply.ts";
import type { CallContext } from "./live-calls.ts";
import { functionCall, hashesOf } from "./live-request.ts";
import { EndpointGone, placedCall } from "./placed-call.ts";

/** For which a job is followed unless its caller says otherwise: installing packages takes its time. */
const FOLLOW_DEFAULT_MS = 10 * 60_000;
/** A job that was only submitted is followed for its line in the log. */
const WATCH_MS = 60 * 60_000;
const NO_SOURCES: ReadonlySet<string> = new Set();
const NO_INPUT = "{}";
const NO_JOB: JobText = { input: undefined, options: "{}" };

export class LiveJobs {
  readonly #parts: CallParts;
  readonly #calls: JobCalls;
  /** Of the whole command. */
  readonly #signal: AbortSignal;

  constructor(parts: CallParts, signal: AbortSignal) {
    const gpus = new GpuNames(parts.service);
    this.#parts = parts;
    this.#signal = signal;
    this.#calls = new JobCalls(parts.service, (endpointId, workerId, line) => {
      void gpus.of(endpointId, workerId).then((gpu) => line.running({ id: workerId, gpu }));
    });
  }

  /** Answers when the job is over, or else with the job as it stands. */
  async runsync(context: CallContext, call: QueueCall): Promise<Response> {
    const job = await this.#placed(context, async (endpointId) => {
      // The same key is answered with the same job, which could not be sent again with what it lacked.
      const isOnce = call.headers["idempotency-key"] !== undefined;
      const known = isOnce ? NO_SOURCES : this.#parts.sources.of(endpointId);
      const first = await this.#attempt(context, call, endpointId, known);
      if (isOnce || first instanceof Response || !lacksModules(first)) return first;
      this.#parts.sources.forget(endpointId);
      return await this.#attempt(context, call, endpointId, NO_SOURCES);
    });
    if (job instanceof Response) return job;
    endLine(context.line, job);
    return answerWith(job);
  }

  /** Answers with the job's id; its line in the log goes on. */
  async run(context: CallContext, call: QueueCall): Promise<Response> {
    return await this.#placed(context, async (endpointId) => {
      // Nobody waits who could send again what a worker lacks.
      const submitted = await this.#submit(context, call, endpointId, NO_SOURCES);
      if (submitted instanceof Response) return submitted;
      void this.#watch(endpointId, submitted, context.line);
      return answerWith(submitted);
    });
  }

  /** Any other operation, passed on as it is. */
  async pass(context: CallContext, call: QueueCall): Promise<Response> {
    const startedAt = performance.now();
    const response = await this.#placed(
      context,
      async (endpointId) => await this.#calls.pass(endpointId, call),
    );
    context.line.done({ ranMs: performance.now() - startedAt });
    return response;
  }

  async #placed<T>({ endpoint }: CallContext, act: (endpointId: string) => Promise<T>): Promise<T> {
    const { session } = this.#parts;
    return await placedCall(session, endpoint, async ({ endpointId }) => await act(endpointId));
  }

  async #attempt(
    context: CallContext,
    call: QueueCall,
    endpointId: string,
    known: ReadonlySet<string>,
  ): Promise<JobReply | Response> {
    const { line } = context;
    const lines = this.#parts.lines.expect(endpointId, line);
    try {
      const submitted = await this.#submit(context, call, endpointId, known);
      if (submitted instanceof Response) return submitted;
      lines.ofJob(submitted.id);
      const order = { line, signal: call.signal, followMs: followMs(call.search) };
      const job = await this.#calls.follow(endpointId, submitted, order);
      if (!lacksModules(job))
        this.#parts.sources.add(endpointId, hashesOf(functionCall({ ...context, input: NO_INPUT })));
      return job;
    } finally {
      lines.ended();
    }
  }

  async #submit(
    context: CallContext,
    call: QueueCall,
    endpointId: string,
    known: ReadonlySet<string>,
  ): Promise<JobReply | Response> {
    const { endpoint, line } = context;
    const { operation, job = NO_JOB } = call;
    const isPlain = endpoint.resource.client_mode === true;
    const input = job.input ?? NO_INPUT;
    const sent = isPlain
      ? job
      : { ...job, input: this.#parts.pack(functionCall({ ...context, input }), known) };
    const kind = operation === "run" ? "run" : "runsync";
    const submitted = await this.#calls.submit(endpointId, kind, sent, call, line);
    if ("job" in submitted) return submitted.job;
    const { refusal } = submitted;
    if (refusal.status === 404) throw new EndpointGone();
    line.fail(`the service refuses the job: ${(await refusal.clone().text()).slice(0, 500)}`);
    return refusal;
  }

  async #watch(endpointId: string, submitted: JobReply, line: CallLine): Promise<void> {
    const lines = this.#parts.lines.expect(endpointId, line);
    lines.ofJob(submitted.id);
    try {
      const order = { line, signal: this.#signal, followMs: WATCH_MS };
      endLine(line, await this.#calls.follow(endpointId, submitted, order));
    } catch (error) {
      if (!this.#signal.aborted) line.fail(error instanceof Error ? error.message : String(error));
    } finally {
      lines.ended();
    }
  }
}

/** What the caller says with `?wait=`, in ms. */
function followMs(search: string): number {
  const wait = Number(new URLSearchParams(search).get("wait"));
  return wait > 0 ? wait : FOLLOW_DEFAULT_MS;
}

/** The operations of the queue API, answered out of a preview's queue as the service answers them. */
import type { z } from "zod";
import { ERRORS, type QueueErrorCode, errorBody } from "../../../src/contract/errors.ts";
import {
  receivedJobRequestSchema,
  remainingTtlSchema,
  requestsQuerySchema,
  waitSchema,
  type WorkerCounts,
} from "../../../src/contract/job.ts";
import { STREAM_HOLD_MS, WAIT_DEFAULT_MS } from "../../../src/contract/limits.ts";
import { withMember } from "../../../src/json/json-members.ts";
import { cutJson, cutsAt, RawJson } from "../../../src/json/raw-json.ts";
import { JsonSyntaxError } from "../../../src/json/json-tokens.ts";
import type { JobView } from "../../../src/domain/jobs/job-view.ts";
import type { CallLine, QueueCall, JobJson } from "../../server/requests/served-app.ts";
import { reasonOf } from "./job-error.ts";
import type { PreviewRequest } from "./preview-jobs.ts";
import type { PreviewQueue } from "./preview-queue.ts";

const IDEMPOTENCY_KEY = "idempotency-key";
const NO_JSON = "null";
const NO_JOB: JobJson = { input: undefined, options: "{}" };
/** The schema asks for an input, which may be any JSON. */
const ANY_JSON = RawJson.of(NO_JSON);
const OPTION_TEXTS = cutsAt(["s3Config"]);

/** A strict client reads the reply of a runsync as that of an ended job, whatever its status says. */
const NOTHING_YET = { delayTime: 0, executionTime: 0, workerId: "" };

/** What is asked, in whose words, and the workers that there are. */
export type QueueQuestion = {
  readonly queue: PreviewQueue;
  readonly call: QueueCall;
  readonly line: CallLine;
  readonly workers: () => WorkerCounts;
};

/** Ends the line of the call: that of a job with the job, which may be later than the answer. */
export async function answerQueueCall(question: QueueQuestion): Promise<Response> {
  const { line } = question;
  try {
    return await OPERATIONS[question.call.operation](question);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    line.fail(error.message);
    return Response.json(errorBody(error.code, error.message), { status: ERRORS[error.code].status });
  }
}

class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: QueueErrorCode;

  constructor(code: QueueErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Answers, and sees to it that the line of the call is ended. */
type Operation = (question: QueueQuestion) => Response | Promise<Response>;

const OPERATIONS: Readonly<Record<QueueCall["operation"], Operation>> = {
  run: (question) => Response.json({ id: submit(question, false), status: "IN_QUEUE" }),
  runsync,
  retry,
  status: endingLine(status),
  stream: endingLine(stream),
  cancel: endingLine(cancel),
  "purge-queue": endingLine(({ queue }) => Response.json({ removed: queue.purge(), status: "completed" })),
  health: endingLine(health),
  requests: endingLine(({ queue, call }) => Response.json(queue.list(queryOf(call)))),
};

function endingLine(operation: Operation): Operation {
  return async (question) => {
    const answered = await operation(question);
    question.line.done({});
    return answered;
  };
}

function cancel({ queue, call }: QueueQuestion): Response {
  return Response.json({ id: call.jobId, status: known(queue.cancel(call.jobId ?? ""), call) });
}

function health({ queue, workers }: QueueQuestion): Response {
  return Response.json({ jobs: queue.counts(), workers: workers(), release: null });
}

function submit({ queue, call, line }: QueueQuestion, isSync: boolean): string {
  const request = requestOf(call);
  const waitMs = parameter(call, "wait", waitSchema) ?? null;
  const id = queue.submit(request, { isSync, waitMs, key: call.headers[IDEMPOTENCY_KEY] });
  void follow(queue, id, line);
  return id;
}

function requestOf({ job: { input, options } = NO_JOB }: QueueCall): PreviewRequest {
  const sent = input === undefined ? {} : { input: ANY_JSON };
  const checked = receivedJobRequestSchema.safeParse({ ...optionsOf(options), ...sent });
  if (!checked.success) throw invalid(checked.error);
  return { ...checked.data, input: input ?? NO_JSON };
}

function optionsOf(json: string): object {
  try {
    return cutJson(Buffer.from(json), OPTION_TEXTS) as object;
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw new Refusal("invalid_input", `The body has ${error.message}.`);
    throw error;
  }
}

async function runsync(question: QueueQuestion): Promise<Response> {
  const { queue, call } = question;
  const waitMs = parameter(call, "wait", waitSchema) ?? WAIT_DEFAULT_MS;
  const id = submit(question, true);
  const view = await waitForEnd(queue, id, waitMs, call.signal);
  return jobAnswer({ ...NOTHING_YET, ...known(view, { ...call, jobId: id }) });
}

async function status({ queue, call }: QueueQuestion): Promise<Response> {
  const id = call.jobId ?? "";
  const ttlMs = parameter(call, "ttl", remainingTtlSchema);
  if (ttlMs !== undefined) queue.expireIn(id, ttlMs);
  const view = await waitForEnd(queue, id, parameter(call, "wait", waitSchema) ?? 0, call.signal);
  return jobAnswer(known(view, call));
}

/** The job once it has ended, or as it stands after that time. */
async function waitForEnd(
  queue: PreviewQueue,
  id: string,
  waitMs: number,
  gone: AbortSignal,
): Promise<JobView | undefined> {
  const untilAt = performance.now() + waitMs;
  for (;;) {
    const view = queue.view(id);
    const leftMs = untilAt - performance.now();
    if (leftMs <= 0 || gone.aborted || queue.hasEnded(id)) return view;
    await queue.change(id, gone, leftMs);
  }
}

async function stream({ queue, call }: QueueQuestion): Promise<Response> {
  const id = call.jobId ?? "";
  const waitMs = parameter(call, "wait", waitSchema) ?? STREAM_HOLD_MS;
  const untilAt = performance.now() + waitMs;
  for (;;) {
    // Of an ended job the rest is told with its status: in one look, so that nothing comes between.
    const hasEnded = queue.hasEnded(id);
    const { status, outputs } = known(queue.drain(id), call);
    const leftMs = untilAt - performance.now();
    if (outputs.length > 0 || hasEnded || leftMs <= 0 || call.signal.aborted) {
      const chunks = outputs.map((output) => `{"output":${output}}`).join(",");
      return json(`{"status":${JSON.stringify(status)},"stream":[${chunks}]}`);
    }
    await queue.change(id, call.signal, leftMs);
  }
}

function retry({ queue, call, line }: QueueQuestion): Response {
  const { jobId = "" } = call;
  const { isDone, status } = known(queue.retry(jobId), call);
  if (isDone) {
    void follow(queue, jobId, line);
    return Response.json({ id: jobId, status: "IN_QUEUE" });
  }
  throw new Refusal(
    "job_not_retryable",
    `Job ${call.jobId} is ${status}; only a FAILED or TIMED_OUT job can be retried. Submit a new one instead.`,
  );
}

/** Tells how a job goes on, to its end. */
async function follow(queue: PreviewQueue, id: string, line: CallLine): Promise<void> {
  for (;;) {
    const view = queue.view(id);
    if (view === undefined) return line.fail("The job's ttl is over.");
    tellLine(line, view);
    if (queue.hasEnded(id)) return;
    await queue.change(id);
  }
}

function tellLine(
  line: CallLine,
  { status, queue, workerId, error, delayTime, executionTime }: JobView,
): void {
  if (status === "IN_QUEUE") return line.waiting(queue?.detail ?? "waits");
  if (status === "IN_PROGRESS") return line.running({ id: workerId ?? "" });
  if (status === "COMPLETED") return line.done({ ranMs: executionTime, queuedMs: delayTime });
  line.fail(error === undefined ? status : reasonOf(error));
}

/** The output is spliced in as the text that the worker sent; null is left out, as clients know it. */
function jobAnswer({ output, ...view }: JobView): Response {
  const text = output?.kind === "inline" && output.json !== "null" ? output.json : undefined;
  const rest = JSON.stringify(view);
  return json(text === undefined ? rest : withMember(rest, "output", text));
}

function json(text: string): Response {
  return new Response(text, { headers: { "Content-Type": "application/json" } });
}

function known<Value>(value: Value | undefined, { jobId = "" }: Pick<QueueCall, "jobId">): Value {
  if (value !== undefined) return value;
  throw new Refusal("job_not_found", `There is no job ${jobId.slice(0, 80)} on this endpoint.`);
}

function queryOf(call: QueueCall): z.infer<typeof requestsQuerySchema> {
  const query = requestsQuerySchema.safeParse(Object.fromEntries(new URLSearchParams(call.search)));
  if (query.success) return query.data;
  throw invalid(query.error);
}

function parameter<Value>(call: QueueCall, name: string, schema: z.ZodType<Value>): Value | undefined {
  const text = new URLSearchParams(call.search).get(name);
  if (text === null || text === "") return undefined;
  const parsed = schema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new Refusal("invalid_input", `${name} ${parsed.error.issues[0]?.message ?? "is invalid"}.`);
}

function invalid({ issues: [issue] }: z.ZodError): Refusal {
  const place = issue?.path.join(".") ?? "";
  return new Refusal("invalid_input", `${place} ${issue?.message ?? "is invalid"}.`.trim());
}

/** Calls of queue-based endpoints, by the paths of the service's queue API. */
import { CallRefusal, methodAnswer } from "./call-answer.ts";
import type { CallLog } from "./call-log.ts";
import { readJob } from "./job-text.ts";
import { failuresOnly, observed } from "./observed-call.ts";
import { askedOperation, type AskedOperation, searchOf } from "./queue-operations.ts";
import { checkedJob } from "./queue-input.ts";
import { readBody } from "./request-body.ts";
import type { EndpointCalls, QueueCall, ServedEndpoint } from "./served-app.ts";

const PASSED_HEADERS = ["accept", "idempotency-key", "last-event-id"];

/** A call of an endpoint; `path` is what stands behind the endpoint's name. */
export type Call = {
  readonly endpoint: ServedEndpoint;
  readonly request: Request;
  readonly path: string;
  readonly calls: EndpointCalls;
  readonly log: CallLog;
};

export async function answerQueueCall(call: Call): Promise<Response> {
  const { endpoint, request, path, calls, log } = call;
  const { pathname } = new URL(request.url);
  const asked = askedOperation(path);
  const started = { method: request.method, path: pathname, endpoint: endpoint.name };
  if (asked !== undefined && !asked.methods.includes(methodOf(request)))
    return methodAnswer(request.method, asked.methods);
  const line = asked?.isAsked === true ? failuresOnly(log, started) : log.begin(started);
  return await observed(line, request, async () => {
    if (asked === undefined) throw unknownOperation(endpoint);
    refuseIfUnreadable(endpoint, asked);
    return await calls.queue(endpoint, await queueCall(call, asked), line);
  });
}

async function queueCall({ endpoint, request }: Call, asked: AskedOperation): Promise<QueueCall> {
  const { operation, jobId, bodyMaxBytes } = asked;
  const headers = PASSED_HEADERS.flatMap((name) => {
    const value = request.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return {
    operation,
    ...(jobId !== undefined && { jobId }),
    ...(bodyMaxBytes !== undefined && {
      job: checkedJob(endpoint.resource, readJob(await readBody(request, bodyMaxBytes))),
    }),
    search: searchOf(asked, new URL(request.url).search),
    headers: Object.fromEntries(headers),
    signal: request.signal,
  };
}

function methodOf({ method }: Request): string {
  return method === "HEAD" ? "GET" : method;
}

function refuseIfUnreadable({ name, problem }: ServedEndpoint, { runsCode }: AskedOperation): void {
  if (runsCode === true && problem !== undefined)
    throw new CallRefusal(503, `${name} cannot be called now: ${problem}`);
}

function unknownOperation({ name }: ServedEndpoint): CallRefusal {
  return new CallRefusal(
    404,
    `${name} is queue-based: call it by POST /${name}/runsync, or run, status/<id>, stream/<id>, cancel/<id>, ` +
      "retry/<id>, purge-queue, health or requests.",
  );
}

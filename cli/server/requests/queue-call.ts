/** Calls of queue-based endpoints, by the paths of the service's queue API. */
import { RequestError, methodResponse } from "./responses.ts";
import type { CallLog } from "./call-log.ts";
import { readJob } from "./job-json.ts";
import { failuresOnly, answerObserved } from "./observed-call.ts";
import { parseOperation, type RequestedOperation, searchOf } from "./queue-operations.ts";
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
  const requested = parseOperation(path);
  const started = { method: request.method, path: pathname, endpoint: endpoint.name };
  if (requested !== undefined && !requested.methods.includes(methodOf(request)))
    return methodResponse(request.method, requested.methods);
  const line = requested?.isPolled === true ? failuresOnly(log, started) : log.begin(started);
  return await answerObserved(line, request, async () => {
    if (requested === undefined) throw unknownOperation(endpoint);
    requireReadable(endpoint, requested);
    return await calls.queue(endpoint, await queueCall(call, requested), line);
  });
}

async function queueCall({ endpoint, request }: Call, requested: RequestedOperation): Promise<QueueCall> {
  const { operation, jobId, bodyMaxBytes } = requested;
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
    search: searchOf(requested, new URL(request.url).search),
    headers: Object.fromEntries(headers),
    signal: request.signal,
  };
}

function methodOf({ method }: Request): string {
  return method === "HEAD" ? "GET" : method;
}

function requireReadable({ name, problem }: ServedEndpoint, { runsCode }: RequestedOperation): void {
  if (runsCode === true && problem !== undefined)
    throw new RequestError(503, `${name} cannot be called now: ${problem}`);
}

function unknownOperation({ name }: ServedEndpoint): RequestError {
  return new RequestError(
    404,
    `${name} is queue-based: call it by POST /${name}/runsync, or run, status/<id>, stream/<id>, cancel/<id>, ` +
      "retry/<id>, purge-queue, health or requests.",
  );
}

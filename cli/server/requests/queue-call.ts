/** Calls of queue-based endpoints, by the paths of the queue API. */
import { RequestError, methodResponse, failuresOnly, answerObserved } from "./responses.ts";
import type { CallLog, EndpointCalls, QueueCall, ServedEndpoint } from "./served-app.ts";
import { readJob, readBody, wholeRequest } from "./request-body.ts";
import { checkedJob } from "./queue-input.ts";
import {
  RUN_BODY_MAX_BYTES,
  RUNSYNC_BODY_MAX_BYTES,
  WAIT_DEFAULT_MS,
  OPENAI_BODY_MAX_BYTES,
} from "../../../src/contract/limits.ts";

const PASSED_HEADERS = ["accept", "idempotency-key", "last-event-id"];

/** A call of an endpoint; `path` follows the endpoint's name. */
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

type Described = {
  readonly operation: QueueCall["operation"];
  readonly methods: readonly string[];
  /** Its path ends with the id of a job. */
  readonly isOfJob?: true;
  /** Limit of the job in its body. */
  readonly bodyMaxBytes?: number;
  /** It runs code, so it fails for code that cannot be read. */
  readonly runsCode?: true;
  /** Clients repeat it and it changes nothing: only failures are shown. */
  readonly isPolled?: true;
  /** Default wait of the service for this operation. */
  readonly waitMs?: number;
};

const READ = ["GET", "POST"];
const OPERATIONS: ReadonlyMap<string, Described> = new Map<string, Described>(
  Object.entries({
    run: { operation: "run", methods: ["POST"], bodyMaxBytes: RUN_BODY_MAX_BYTES, runsCode: true },
    runsync: {
      operation: "runsync",
      methods: ["POST"],
      bodyMaxBytes: RUNSYNC_BODY_MAX_BYTES,
      runsCode: true,
    },
    status: { operation: "status", methods: READ, isOfJob: true, isPolled: true },
    "status-sync": {
      operation: "status",
      methods: READ,
      isOfJob: true,
      isPolled: true,
      waitMs: WAIT_DEFAULT_MS,
    },
    stream: { operation: "stream", methods: READ, isOfJob: true, isPolled: true },
    cancel: { operation: "cancel", methods: ["POST"], isOfJob: true },
    retry: { operation: "retry", methods: ["POST"], isOfJob: true, runsCode: true },
    "purge-queue": { operation: "purge-queue", methods: ["POST"] },
    health: { operation: "health", methods: ["GET"], isPolled: true },
    requests: { operation: "requests", methods: ["GET"], isPolled: true },
  }),
);

/** Ids of jobs need no escaping. */
const JOB_ID = /^[\w-]+$/;

type RequestedOperation = Described & { readonly jobId: string | undefined };

/** The operation of a path; undefined where the queue API has none. */
export function parseOperation(path: string): RequestedOperation | undefined {
  const [name = "", jobId, ...rest] = path.replace(/^\//, "").replace(/\/$/, "").split("/");
  const described = OPERATIONS.get(name);
  if (described === undefined || rest.length > 0) return undefined;
  if (described.isOfJob !== true) return jobId === undefined ? { ...described, jobId } : undefined;
  return jobId !== undefined && JOB_ID.test(jobId) ? { ...described, jobId } : undefined;
}

/** The query for the service. */
export function searchOf({ waitMs }: RequestedOperation, search: string): string {
  const query = new URLSearchParams(search);
  if (waitMs === undefined || query.has("wait")) return search;
  query.set("wait", String(waitMs));
  return `?${query.toString()}`;
}

const PREFIX = "/openai/";

/** A call of a server that is connected to the service. */
type OpenAiCall = Call & { readonly calls: Required<EndpointCalls> };

/** Whether the service translates the request; load-balanced workers receive it unchanged. */
export function isOpenAiCall(call: Call): call is OpenAiCall {
  const { resource } = call.endpoint;
  const isOwnQueue = resource.client_mode === true && !resource.is_load_balanced;
  return isOwnQueue && call.calls.openai !== undefined && call.path.startsWith(PREFIX);
}

export async function answerOpenAiCall(call: OpenAiCall): Promise<Response> {
  const { endpoint, request, path, calls, log } = call;
  const { pathname } = new URL(request.url);
  const line = log.begin({ method: request.method, path: pathname, endpoint: endpoint.name });
  return await answerObserved(line, request, async () => {
    if (endpoint.problem !== undefined)
      throw new RequestError(503, `${endpoint.name} cannot be called now: ${endpoint.problem}`);
    return await calls.openai(endpoint, await wholeRequest(request, OPENAI_BODY_MAX_BYTES), path, line);
  });
}

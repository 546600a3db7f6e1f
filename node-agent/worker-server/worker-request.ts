/** A request of the worker protocol, read from its method and address. */
export type WorkerRequest = { readonly token: string; readonly workerId: string } & WorkerCall;

type WorkerCall =
  | { readonly route: "job-take"; readonly batchSize: number; readonly hasJobInProgress: boolean | null }
  | { readonly route: "job-stop" }
  | { readonly route: "ping"; readonly jobIds: ReadonlySet<string>; readonly unhealthyReason: string | null }
  | { readonly route: "job-done" | "job-stream"; readonly jobId: string };

const PATH = /^\/(?<token>[^/]+)\/(?<route>[a-z-]+)\/(?<workerId>[^/]+)(?:\/(?<jobId>[^/]+))?$/;

const BATCH_MAX = 1_000;

const RELAYED_PATH = /^\/(?<token>[^/]+)\/edge\/(?<workerId>[^/]+)(?<path>\/.*)$/;

/** A request that a worker has its agent pass on to the edge: `/<token>/edge/<workerId>/<path>[?query]`. */
export type RelayedRequest = { readonly token: string; readonly workerId: string; readonly target: string };

/** Undefined for anything else, and for the edge's routes for agents, which are no worker's business. */
export function parseRelayed(requestUrl: string): RelayedRequest | undefined {
  const parts = RELAYED_PATH.exec(requestUrl)?.groups;
  const token = decode(parts?.["token"]);
  const workerId = decode(parts?.["workerId"]);
  const target = parts && readTarget(parts["path"] ?? "");
  if (token === undefined || workerId === undefined || target === undefined) return undefined;
  return { token, workerId, target };
}

/** Path and query as the edge would read them, without dots that climb. */
function readTarget(path: string): string | undefined {
  const url = parseUrl(`http://edge${path}`);
  const first = decode(url?.pathname.split("/")[1]);
  return !url || first === undefined || first === "agent" ? undefined : url.pathname + url.search;
}

/** Reads `/<token>/<route>/<workerId>[/<jobId>]`; undefined for anything else. Workers write it as it stands. */
export function parseRequest(method: string, requestUrl: string): WorkerRequest | undefined {
  const pathEnd = requestUrl.indexOf("?");
  const [path, query] = pathEnd < 0 ? [requestUrl, ""] : splitAt(requestUrl, pathEnd);
  const parts = PATH.exec(path)?.groups;
  const token = decode(parts?.["token"]);
  const workerId = decode(parts?.["workerId"]);
  if (!parts || token === undefined || workerId === undefined) return undefined;
  const call = readCall(
    `${method} ${parts["route"] ?? ""}`,
    new URLSearchParams(query),
    decode(parts["jobId"]),
  );
  return call && { token, workerId, ...call };
}

/** As URL.parse does it, which Node has since 22. */
function parseUrl(input: string): URL | null {
  return URL.canParse(input) ? new URL(input) : null;
}

function splitAt(text: string, at: number): [before: string, after: string] {
  return [text.slice(0, at), text.slice(at + 1)];
}

function readCall(call: string, query: URLSearchParams, jobId: string | undefined): WorkerCall | undefined {
  switch (call) {
    case "GET job-take":
      return { route: "job-take", batchSize: 1, hasJobInProgress: readProgress(query) };
    case "GET job-take-batch":
      return { route: "job-take", batchSize: readBatchSize(query), hasJobInProgress: readProgress(query) };
    case "GET job-stop":
      return { route: "job-stop" };
    case "GET ping":
      return { route: "ping", jobIds: readIds(query), unhealthyReason: readUnhealthy(query) };
    case "POST job-done":
      return jobId === undefined ? undefined : { route: "job-done", jobId };
    case "POST job-stream":
      return jobId === undefined ? undefined : { route: "job-stream", jobId };
    default:
      return undefined;
  }
}

function readBatchSize(query: URLSearchParams): number {
  const size = Number(query.get("batch_size"));
  return Number.isInteger(size) && size > 0 ? Math.min(size, BATCH_MAX) : 1;
}

function readProgress(query: URLSearchParams): boolean | null {
  const value = query.get("job_in_progress");
  return value === null ? null : value === "1";
}

function readIds(query: URLSearchParams): ReadonlySet<string> {
  return new Set((query.get("job_id") ?? "").split(",").filter((id) => id !== ""));
}

function readUnhealthy(query: URLSearchParams): string | null {
  if (query.get("status") !== "unhealthy") return null;
  return [query.get("check"), query.get("reason")].filter(Boolean).join(": ") || "no reason given";
}

function decode(part: string | undefined): string | undefined {
  if (part === undefined) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

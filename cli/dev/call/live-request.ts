/** Requests to workers in live mode, made of an endpoint's code and of one call. */
import {
  type LiveHttp,
  type LivePeer,
  type LiveRequest,
  LIVE_PROTOCOL,
} from "../../../src/contract/flash/flash-live.ts";
import {
  LIVE_ARGUMENTS_MAX_BYTES,
  LIVE_SOURCES_MAX_BYTES,
} from "../../../src/contract/flash/flash-limits.ts";
import { withMember } from "../../../src/json/json-members.ts";
import { CallFailure } from "../../server/requests/served-app.ts";
import type { LiveEndpoint } from "../app/live-app.ts";

/** Sources of no more than this in total are sent with each call, whatever its worker has. */
export const LIVE_SOURCES_SMALL_BYTES = 32 * 1024;

/** A request without sources; `kwargs` is the JSON of the arguments as the caller sent it. */
export type LiveCall = Omit<LiveRequest, "sources" | "kwargs"> & { readonly kwargs?: string };

/** What is called, and all endpoints of the app. */
type Called = { readonly endpoint: LiveEndpoint; readonly all: readonly LiveEndpoint[] };

/** A job with this input, which is JSON. For a class, the input names the method, as in jobs of deployed endpoints. */
export function functionCall({ endpoint, all, input }: Called & { readonly input: string }): LiveCall {
  return {
    protocol: LIVE_PROTOCOL,
    ...endpoint.code,
    kwargs: input,
    peers: peersOf(endpoint, all),
  };
}

/** A request to one of the routes of an endpoint. */
export function routeCall({ endpoint, all, http }: Called & { readonly http: LiveHttp }): LiveCall {
  return {
    protocol: LIVE_PROTOCOL,
    ...endpoint.code,
    routes: endpoint.resource.functions.map(({ name, module, http_method, http_path }) => ({
      method: http_method ?? "",
      path: http_path ?? "",
      module,
      function_name: name,
    })),
    http,
    peers: peersOf(endpoint, all),
  };
}

/** The JSON of a request. */
export function requestJson({ kwargs, ...call }: LiveCall, sources: LiveRequest["sources"]): string {
  const json = JSON.stringify({ ...call, sources });
  return kwargs === undefined ? json : withMember(json, "kwargs", kwargs);
}

/**
 * Sources that the call needs, without those that its worker has. When all are small together, all are sent, since a
 * job that is retried later may run on another worker.
 */
export function sourcesOf(
  call: LiveCall,
  read: (sha256: string) => string | undefined,
  sent: ReadonlySet<string>,
): Record<string, string> {
  const all = hashesOf(call).flatMap((sha256): Source[] => {
    const source = read(sha256);
    return source === undefined ? [] : [[sha256, source]];
  });
  if (bytesOf(all) <= LIVE_SOURCES_SMALL_BYTES) return Object.fromEntries(all);
  const missing = all.filter(([sha256]) => !sent.has(sha256));
  if (bytesOf(missing) > LIVE_SOURCES_MAX_BYTES) throw tooLarge(bytesOf(missing));
  return Object.fromEntries(missing);
}

/** SHA-256 and content of a file. */
type Source = [string, string];

function bytesOf(sources: readonly Source[]): number {
  return sources.reduce((sum, [, source]) => sum + Buffer.byteLength(source), 0);
}

/** Throws a CallFailure when the arguments or the body exceed the limit of live workers. */
export function checkArguments({ kwargs, http }: LiveCall): void {
  const bytes = Buffer.byteLength(kwargs ?? "") + Buffer.byteLength(http?.body_base64 ?? "", "base64");
  if (bytes <= LIVE_ARGUMENTS_MAX_BYTES) return;
  throw new CallFailure(
    413,
    `The arguments have ${bytes} bytes; live workers accept ${LIVE_ARGUMENTS_MAX_BYTES}. Send a URL of large data instead.`,
  );
}

/** Hashes of all local files that the call needs, without duplicates. */
export function hashesOf({ modules, peers }: LiveCall): readonly string[] {
  const all = [modules, ...Object.values(peers).map((peer) => peer.modules)];
  return [...new Set(all.flatMap((one) => Object.values(one)))];
}

function peersOf(endpoint: LiveEndpoint, all: readonly LiveEndpoint[]): Record<string, LivePeer> {
  return Object.fromEntries(calledEndpoints(endpoint, all).map(({ name, code }) => [name, code]));
}

/** Endpoints that the code may call, directly or through others. */
export function calledEndpoints(
  endpoint: LiveEndpoint,
  all: readonly LiveEndpoint[],
): readonly LiveEndpoint[] {
  const byName = new Map(all.map((one) => [one.name, one]));
  const found = new Map<string, LiveEndpoint>();
  const open = [...endpoint.peers];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const peer = byName.get(name);
    if (peer === undefined || found.has(name) || peer.problem !== undefined) continue;
    found.set(name, peer);
    open.push(...peer.peers);
  }
  return [...found.values()];
}

function tooLarge(bytes: number): CallFailure {
  return new CallFailure(
    422,
    `The local files that the call needs have ${bytes} bytes in total; live workers accept ${LIVE_SOURCES_MAX_BYTES}. ` +
      "Keep data out of Python files, or import less.",
  );
}

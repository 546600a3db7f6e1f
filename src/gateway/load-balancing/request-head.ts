/**
 * The head of a request as the worker receives it.
 *
 * H1  Headers of one connection, the caller's key, and headers for the edge alone are removed.
 * H2  Headers about the client and the URL that it called hold what the edge has seen, whatever the client sent.
 * H3  All other headers pass unchanged.
 */
import { resemblesCredential } from "../../auth/credential.ts";
import type { RequestHead } from "../../link/link-messages.ts";
import type { Place } from "./endpoint-url.ts";
import { AFFINITY_HEADER, endToEndHeaders, toByteString } from "./headers.ts";

/** `expect`: the edge has answered it. `http2-settings` belongs to an upgrade that the edge does not support. */
const OWN = new Set(["expect", "http2-settings", AFFINITY_HEADER.toLowerCase()]);
/**
 * Headers from which servers and frameworks behind a proxy read the identity of the client and what it called.
 * `proxy` becomes the variable HTTP_PROXY of CGI programs.
 */
const PROXY_HEADERS = new Set([
  "client-ip",
  "fastly-client-ip",
  "forwarded",
  "front-end-https",
  "proxy",
  "remote-user",
  "true-client-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-envoy-external-address",
  "x-forwarded",
  "x-host",
  "x-real-ip",
  "x-remote-user",
  "x-rewrite-url",
  "x-scheme",
  "x-url-scheme",
]);
/** Headers of Cloudflare, and families of the headers above. */
const OWN_PREFIXES = ["cf-", "x-forwarded-", "x-original-"];
/** Each hop has its own WebSocket handshake: client to edge, and agent to worker. */
const HANDSHAKE = new Set([
  "sec-websocket-key",
  "sec-websocket-extensions",
  "sec-websocket-version",
  "sec-websocket-accept",
]);

/** Whether the request opens a WebSocket. */
export function isUpgrade({ method, headers }: Pick<Request, "method" | "headers">): boolean {
  return method === "GET" && headers.get("Upgrade")?.toLowerCase() === "websocket";
}

export type RequestOrigin = {
  /** The id of the request, where the client sent none. */
  readonly requestId: string;
  /** The IP address of the client; null when it is unknown. */
  readonly client: string | null;
  /** Pods check credentials themselves: all pass but those of this service, whose root key may look like anything. */
  readonly forPod?: { readonly rootKey: string | undefined };
};

export function requestHead(
  request: Pick<Request, "method" | "url" | "headers">,
  place: Place,
  { requestId, client, forPod }: RequestOrigin,
): RequestHead {
  const { method, headers } = request;
  const kind = isUpgrade(request) ? "websocket" : "http";
  const passing = endToEndHeaders([...headers])
    .filter(([name, value]) => name !== "authorization" || (forPod && !bearsOwnKey(value, forPod.rootKey)))
    .filter(([name]) => !isOwn(name) && !(kind === "websocket" && HANDSHAKE.has(name))) // H1
    .map(([name, value]): [string, string] => [name, toByteString(value)]);
  if (!headers.has("X-Request-Id")) passing.push(["x-request-id", requestId]);
  return { kind, method, target: place.target, headers: [...passing, ...forwarded(request, place, client)] };
}

/** A key of this service never reaches a pod, which may belong to somebody else. */
function bearsOwnKey(authorization: string, rootKey: string | undefined): boolean {
  const parts = authorization.split(/[\s,]+/);
  return [...parts, ...parts.flatMap(readBasic)].some(
    (part) => resemblesCredential(part) || part === rootKey,
  );
}

/** User and password of a part that has them in base64. */
function readBasic(part: string): readonly string[] {
  try {
    return atob(part).split(":");
  } catch {
    return [];
  }
}

/** CGI and WSGI do not distinguish `_` and `-` in names of headers. */
function isOwn(written: string): boolean {
  const name = written.replaceAll("_", "-");
  return OWN.has(name) || PROXY_HEADERS.has(name) || OWN_PREFIXES.some((prefix) => name.startsWith(prefix));
}

// H2
function forwarded(
  { url, headers }: Pick<Request, "url" | "headers">,
  { prefix }: Place,
  address: string | null,
): [string, string][] {
  const { protocol, host: calledHost } = new URL(url);
  const host = headers.get("Host") ?? calledHost;
  const client = clientChain(headers, address);
  return [
    ...(headers.has("Host") ? [] : [["host", host] satisfies [string, string]]),
    ...(client === "" ? [] : [["x-forwarded-for", client] satisfies [string, string]]),
    ...(address === null ? [] : [["x-real-ip", address] satisfies [string, string]]),
    ["x-forwarded-proto", protocol.slice(0, -1)],
    ["x-forwarded-host", host],
    ...(prefix === "" ? [] : [["x-forwarded-prefix", prefix] satisfies [string, string]]),
  ];
}

/** The proxies before the edge, and the last of them, which only Cloudflare knows. */
function clientChain(headers: Headers, client: string | null): string {
  const before = (headers.get("X-Forwarded-For") ?? "").split(",").map((address) => address.trim());
  const chain = before.filter((address) => address !== "").map(toByteString);
  if (client !== null && chain.at(-1) !== client) chain.push(client);
  return chain.join(", ");
}

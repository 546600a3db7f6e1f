/** Headers on their way through the agent, without those of a single connection. */
import type { IncomingMessage } from "node:http";
import { type RequestHead, responseHeadSchema, encodeJson } from "../../src/link/link-messages.ts";
import { LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";

type Headers = readonly (readonly [string, string])[];

const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** The worker's connection generates these itself. */
const OF_HANDSHAKE = new Set([
  "content-length",
  "sec-websocket-accept",
  "sec-websocket-extensions",
  "sec-websocket-key",
  "sec-websocket-version",
]);

export type FramedHeaders = {
  /** Names and values in turn. */
  readonly flat: string[];
  /** The body length that the head declares; null without a reliable one. */
  readonly bodyBytes: number | null;
};

/** Headers of a request to a worker. The end of its body is framed by the agent, against request smuggling. */
export function requestHeaders({ headers, method }: RequestHead, hasBody: boolean): FramedHeaders {
  const lengths = headers.filter(([name]) => name.toLowerCase() === "content-length");
  const bodyBytes = hasBody ? lengthOf(lengths.map(([, value]) => value)) : 0;
  const flat = endToEnd(headers)
    .filter(([name]) => !["content-length", "expect"].includes(name.toLowerCase()))
    .flatMap(([name, value]) => [name, asBytes(value)]);
  if (!headers.some(([name]) => name.toLowerCase() === "host")) flat.unshift("Host", "localhost");
  if (bodyBytes === null) flat.push("Transfer-Encoding", "chunked");
  else if (hasBody || lengths.length > 0 || canExpectBody(method))
    flat.push("Content-Length", `${bodyBytes}`);
  return { flat, bodyBytes };
}

/** Request headers that open a WebSocket to a worker, by name. */
export function upgradeHeaders({ headers }: RequestHead): ReadonlyMap<string, readonly string[]> {
  const byName = new Map<string, string[]>();
  const names = new Map<string, string>();
  for (const [name, value] of endToEnd(headers)) {
    if (OF_HANDSHAKE.has(name.toLowerCase())) continue;
    const known = names.get(name.toLowerCase()) ?? name;
    names.set(name.toLowerCase(), known);
    byName.set(known, [...(byName.get(known) ?? []), asBytes(value)]);
  }
  return byName;
}

/** The head of a worker's response as a frame carries it; undefined when it cannot be passed on. */
export function responseHead(response: IncomingMessage): Uint8Array | undefined {
  const { rawHeaders, statusCode: status, statusMessage: statusText } = response;
  const headers = endToEnd(pairs(rawHeaders)).filter(
    ([name]) => status !== 101 || !OF_HANDSHAKE.has(name.toLowerCase()),
  );
  const head = responseHeadSchema.safeParse({ status, statusText, headers });
  const bytes = head.success ? encodeJson(head.data) : undefined;
  return bytes && bytes.byteLength <= LINK_FRAME_MAX_BYTES ? bytes : undefined;
}

/** Without what is about one connection, which the connection may itself have named. */
function endToEnd(headers: Headers): Headers {
  const named = headers
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.toLowerCase().split(","))
    .map((name) => name.trim());
  return headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !HOP_BY_HOP.has(lower) && !named.includes(lower);
  });
}

function pairs(flat: readonly string[]): Headers {
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) headers.push([flat[at] ?? "", flat[at + 1] ?? ""]);
  return headers;
}

function lengthOf(values: readonly string[]): number | null {
  const [value = "", ...others] = values;
  return others.length === 0 && /^\d{1,15}$/.test(value) ? Number(value) : null;
}

/** Servers expect an explicit length of 0 for such requests without a body. */
function canExpectBody(method: string): boolean {
  return ["POST", "PUT", "PATCH"].includes(method);
}

/** Header values are bytes, one of them a character; what cannot be one is sent as UTF-8. */
function asBytes(value: string): string {
  // oxlint-disable-next-line no-control-regex -- every byte there is
  return /^[\u0000-\u00ff]*$/.test(value) ? value : Buffer.from(value).toString("latin1");
}

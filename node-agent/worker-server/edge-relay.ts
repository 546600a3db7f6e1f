/**
 * Forwards requests of workers to an edge that containers cannot reach themselves.
 *
 * R1  Each request has its own connection and framing, so nothing of one worker gets into the answer of another.
 * R2  The edge may answer before it was sent all, and either side may vanish at any time.
 */
import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import { request as requestSecurely } from "node:https";
import { pipeline } from "node:stream";

/** They concern one connection, not what is sent over it. */
const HOP_BY_HOP = new Set(["connection", "expect", "host", "keep-alive", "te", "trailer", "upgrade"]);
const FRAMING = "transfer-encoding";
/** Is passed even where a worker calls it a matter of the connection: without it a body has no end. */
const LENGTH = "content-length";

export class EdgeRelay {
  readonly #edge: URL;

  constructor(edgeUrl: string) {
    this.#edge = new URL(edgeUrl);
  }

  /** `target` is path and query. The worker's own key goes along, and decides what it may do. */
  pass(target: string, incoming: IncomingMessage, response: ServerResponse): void {
    const send = this.#edge.protocol === "https:" ? requestSecurely : request;
    const { method, headers } = incoming;
    const framing = FRAMING in headers ? { [FRAMING]: "chunked" } : {}; // else a body may look like another request
    const onward = send(this.#edge, {
      path: target,
      method,
      headers: { ...passed(headers), ...framing },
      agent: false,
    });
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, passed(answer.headers));
      pipeline(answer, response, () => {}); // cut off on one side, it is cut off on the other
    });
    onward.on("error", (error) => refuse(response, error));
    onward.once("close", () => incoming.resume()); // the rest is not wanted, but the next request is
    response.once("close", () => onward.destroy());
    incoming.pipe(onward);
  }
}

function passed(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const isOfHop = (name: string): boolean =>
    name === FRAMING || HOP_BY_HOP.has(name) || name.startsWith("proxy-") || named.includes(name);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name === LENGTH || !isOfHop(name)));
}

function refuse(response: ServerResponse, { message }: Error): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(502, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: `The edge cannot be reached from this worker's host: ${message}` }));
}

/**
 * A script with both transports:
 *
 *   /polled/<path>, /linked/<path>   requests of clients
 *   POST /turn                       the agent of transport A: brings an answer (or none), takes a request
 *   GET /link                        the agent of transport B: a WebSocket
 *   GET /meter                       what was counted
 */
import { type Answer, bodyOf, encodeHead, toResponse } from "./answer.ts";
import type { LinkedObject } from "./linked-object.ts";
import { countWorkerRequest, readMeter } from "./meter.ts";
import type { PolledObject } from "./polled-object.ts";

export { LinkedObject } from "./linked-object.ts";
export { PolledObject } from "./polled-object.ts";

/** Beside the request of a turn's answer, whose body is that of the request. */
const ID = "x-id";
const HEAD = "x-head";

type Env = {
  readonly POLLED: DurableObjectNamespace<PolledObject>;
  readonly LINKED: DurableObjectNamespace<LinkedObject>;
};

async function forward(request: Request, env: Env, transport: string, target: string): Promise<Response> {
  const head = encodeHead(request, target);
  const body = await bodyOf(request);
  const answer =
    transport === "polled"
      ? await env.POLLED.getByName("endpoint").request(head, body)
      : await env.LINKED.getByName("endpoint").forward(head, body, request.headers.has("content-length"));
  return toResponse(answer as Answer);
}

async function turn(request: Request, env: Env): Promise<Response> {
  const id = request.headers.get(ID);
  const head = fromBase64(request.headers.get(HEAD) ?? "");
  const given = id === null ? null : { id: Number(id), head, body: await bodyOf(request) };
  const next = await env.POLLED.getByName("endpoint").turn(given);
  const headers = { [ID]: String(next.id), [HEAD]: toBase64(next.head) };
  return new Response(next.body as BodyInit | null, { headers });
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (pathname === "/meter") return Response.json(readMeter());
    countWorkerRequest();
    if (pathname === "/turn") return turn(request, env);
    if (pathname === "/link") return env.LINKED.getByName("endpoint").fetch(request);
    const transport = pathname.slice(1, pathname.indexOf("/", 1));
    return forward(request, env, transport, pathname.slice(transport.length + 1) + search);
  },
};

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

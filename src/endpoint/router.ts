/** What an Endpoint object gets by `fetch`: upgrades to WebSockets. Everything else is RPC. */
import type { Endpoint } from "./composition.ts";
import type { UpgradeCall, UpgradeReply } from "./load-balancing/forward-handlers.ts";
import { packHead, unpackHead, UPGRADE_HEAD, UPGRADE_WORKER } from "../durable/ports.ts";
import { readAffinity } from "./load-balancing/waiting-requests.ts";

/**
 * Wake-up channels, of which the path does not count:
 *   `?job=…&operation=…&slot=…&wait=…`, for the end of a job;
 *   `?stream=…&after=…&operation=…&slot=…&wait=…`, for chunks;
 *   `?host=…&session=…&turn=…&free=…&terms=…&follow=…`, for an agent;
 *   `?direct=…&affinity=…&until=…`, for a request that waits for a worker.
 * Other sockets: `?logs` follows the logs; `/link?host=…` is the link of an agent; `/direct?request=…&affinity=…&received=…`
 * is a client's WebSocket to a worker, as durable/ports.ts describes.
 */
export async function routeUpgrade(endpoint: Endpoint, request: Request, now: number): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url);
  const { facts, lookup, jobs, streams, agents, loadBalancing } = endpoint;
  if (query.has("logs")) return agents.follow(now);
  if (pathname === "/direct" || pathname === "/link") {
    if (!facts.config) return Response.json({ kind: "unconfigured" });
    if (pathname === "/direct") return toResponse(await loadBalancing.handlers.upgrade(readCall(request)));
    const hostId = query.get("host") ?? "";
    if (!(await lookup.hasWorkerOn(hostId))) return Response.json({ kind: "not_placed" });
    return loadBalancing.links.accept(hostId, now);
  }
  if (query.has("direct")) return loadBalancing.handlers.openChannel(query, now);
  if (query.has("job")) return jobs.openChannel(query, now);
  if (query.has("stream")) return streams.openChannel(query, now);
  return agents.openChannel(query);
}

function readCall(request: Request): UpgradeCall {
  const query = new URL(request.url).searchParams;
  return {
    requestId: query.get("request") ?? "",
    head: unpackHead(request.headers.get(UPGRADE_HEAD) ?? ""),
    affinity: readAffinity(query.get("affinity")),
    receivedAt: Number(query.get("received")),
  };
}

function toResponse(reply: UpgradeReply): Response {
  switch (reply.kind) {
    case "opened":
      return new Response(null, { status: 101, webSocket: reply.socket, headers: headersOf(reply) });
    case "answer":
      return new Response(reply.body, { headers: headersOf(reply) });
    case "wait":
    case "worker_gone":
    case "overloaded":
    case "failed":
      return Response.json(reply);
  }
}

function headersOf({ head, workerId }: { readonly head: Uint8Array; readonly workerId: string }) {
  return { [UPGRADE_HEAD]: packHead(head), [UPGRADE_WORKER]: workerId };
}

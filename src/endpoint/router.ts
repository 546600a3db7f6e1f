/** What an Endpoint object gets by `fetch`: upgrades to WebSockets. Everything else is RPC. */
import type { Endpoint } from "./composition.ts";
import { readUpgradeCall, upgradeResponse } from "../forwarding/upgrade-call.ts";

/**
 * Wake-up channels, of which the path does not count:
 *   `?job=…&operation=…&slot=…&wait=…`, for the end of a job;
 *   `?stream=…&after=…&operation=…&slot=…&wait=…`, for chunks;
 *   `?host=…&session=…&turn=…&free=…&terms=…&follow=…&shards=…`, for an agent;
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
    if (pathname === "/direct")
      return upgradeResponse(await loadBalancing.handlers.upgrade(readUpgradeCall(request)));
    const hostId = query.get("host") ?? "";
    if (!(await lookup.hasWorkerOn(hostId))) return Response.json({ kind: "not_placed" });
    return loadBalancing.links.accept(hostId, now);
  }
  if (query.has("direct")) return loadBalancing.handlers.openChannel(query, now);
  if (query.has("job")) return jobs.openChannel(query, now);
  if (query.has("stream")) return streams.openChannel(query, now);
  return agents.openChannel(query);
}

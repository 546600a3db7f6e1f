/** What comes to an Endpoint object by `fetch`: upgrades only, since everything else is a call. */
import { readWaitingRequest } from "./load-balancing/waiting-requests.ts";
import { answerUpgrade } from "./load-balancing/upgrade.ts";
import { readAgentQuery, readJobWaiter } from "./dispatch/notifier.ts";
import type { EndpointParts } from "./composition.ts";
import { termsOf } from "./dispatch/exchange.ts";
import { findJob, isUnderway } from "./queue/job-reference.ts";

/**
 * Doorbells: `/doorbell?job=…&operation=…&slot=…&wait=…`, the same with `stream=…&after=…` instead of `job=…`,
 * `/doorbell?host=…&session=…&turn=…&free=…&terms=…&follow=…`, or `/doorbell?direct=…&affinity=…&until=…`. For
 * load-balanced requests: `/link?host=…` for an agent, and `/direct?…` for a client's WebSocket.
 */
export async function routeUpgrade(parts: EndpointParts, request: Request, now: number): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url);
  const { facts, loadBalancing, lookup } = parts;
  if (pathname === "/direct") return await answerUpgrade(request, facts, loadBalancing.handlers);
  if (pathname === "/link") {
    if (!facts.config) return Response.json({ kind: "unconfigured" });
    const hostId = query.get("host") ?? "";
    if (!(await lookup.hasWorkerOn(hostId))) return Response.json({ kind: "not_placed" });
    return loadBalancing.links.accept(hostId, now);
  }
  if (query.has("direct")) return loadBalancing.handlers.wait(readWaitingRequest(query, now));
  if (query.has("job")) return openForJob(parts, query, now);
  if (query.has("stream")) return openForStream(parts, query, now);
  return openForAgent(parts, query);
}

function openForJob({ queue, notifier }: EndpointParts, query: URLSearchParams, now: number): Response {
  const stored = findJob(queue, query.get("job") ?? "", now);
  return notifier.openForJob(readJobWaiter(query, stored?.seq, now), isUnderway(stored));
}

function openForStream(
  { queue, chunks, notifier }: EndpointParts,
  query: URLSearchParams,
  now: number,
): Response {
  const stored = findJob(queue, query.get("stream") ?? "", now);
  const isQuiet = isUnderway(stored) && chunks.endOf(stored.seq) <= Number(query.get("after"));
  return notifier.openForStream(readJobWaiter(query, stored?.seq, now), isQuiet);
}

function openForAgent(parts: EndpointParts, query: URLSearchParams): Response {
  const { agents, storage, facts, scaling, followers, notifier } = parts;
  const agent = readAgentQuery(query);
  const hasNews =
    agents.hasPendingStop(agent.hostId) ||
    (agent.free > 0 && storage.claimable > 0) ||
    query.get("terms") !== termsOf(facts, scaling) ||
    Number(query.get("follow") ?? followers.follow) !== followers.follow;
  return notifier.openForAgent(agent, hasNews);
}

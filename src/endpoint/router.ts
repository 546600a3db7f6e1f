/** What comes to an Endpoint object by `fetch`: upgrades only, since everything else is a call. */
import type { EndpointFacts } from "./endpoint-facts.ts";
import { readAffinity, readWaitingRequest } from "./load-balancing/waiting-requests.ts";
import type { ForwardHandlers, UpgradeCall, UpgradeReply } from "./load-balancing/forward-handlers.ts";
import { UPGRADE_HEAD, UPGRADE_WORKER } from "./load-balancing/messages.ts";
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

/** Upgrades that come to the object for load-balanced requests, as HTTP. */

/** Carries out `/direct?request=…&affinity=…&received=…`, as messages.ts says. */
export async function answerUpgrade(
  request: Request,
  facts: Pick<EndpointFacts, "config">,
  handlers: Pick<ForwardHandlers, "upgrade">,
): Promise<Response> {
  if (!facts.config) return Response.json({ kind: "unconfigured" });
  return toResponse(await handlers.upgrade(readCall(request)));
}

function readCall(request: Request): UpgradeCall {
  const query = new URL(request.url).searchParams;
  return {
    requestId: query.get("request") ?? "",
    head: fromBase64(request.headers.get(UPGRADE_HEAD) ?? ""),
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
  return { [UPGRADE_HEAD]: toBase64(head), [UPGRADE_WORKER]: workerId };
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function fromBase64(encoded: string): Uint8Array {
  return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
}

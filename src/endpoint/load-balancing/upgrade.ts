/** Upgrades that come to the object for load-balanced requests, as HTTP. */
import type { EndpointFacts } from "../endpoint-facts.ts";
import { readAffinity } from "./waiting-requests.ts";
import type { ForwardHandlers, UpgradeCall, UpgradeReply } from "./forward-handlers.ts";
import { UPGRADE_HEAD, UPGRADE_WORKER } from "./messages.ts";

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

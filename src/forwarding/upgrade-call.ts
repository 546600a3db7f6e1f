/** A request for a WebSocket to a worker as an object gets it by `fetch`: see durable/ports.ts. */
import { packHead, unpackHead, UPGRADE_HEAD, UPGRADE_WORKER } from "../durable/ports.ts";
import type { UpgradeCall, UpgradeReply } from "./forwarder.ts";
import type { Affinity } from "./messages.ts";

export function readUpgradeCall(request: Request): UpgradeCall {
  const query = new URL(request.url).searchParams;
  const port = query.get("port");
  return {
    requestId: query.get("request") ?? "",
    head: unpackHead(request.headers.get(UPGRADE_HEAD) ?? ""),
    affinity: readAffinity(query.get("affinity")),
    ...(port !== null && { port: Number(port) }),
    receivedAt: Number(query.get("received")),
  };
}

export function readAffinity(value: string | null): Affinity | null {
  if (!value) return null;
  const [mode = "", ...rest] = value.split(":");
  return { mode: mode as Affinity["mode"], workerId: rest.join(":") };
}

export function upgradeResponse(reply: UpgradeReply): Response {
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

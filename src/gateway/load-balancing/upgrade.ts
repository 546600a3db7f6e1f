/** WebSockets to workers: opened by the endpoint's object, and passed to the client as they are. */
import { packHead, unpackHead, UPGRADE_HEAD, UPGRADE_WORKER } from "../../durable/ports.ts";
import type { NoWorker, ForwardFailure } from "../../forwarding/messages.ts";
import type { Unconfigured } from "../../endpoint/messages.ts";
import type { UpgradeCall } from "../../forwarding/forwarder.ts";
import { writeAffinity } from "./affinity.ts";
import { answerHeaders, readHead, type WorkerAnswer } from "./answer.ts";

type Upgraded = {
  readonly kind: "upgraded";
  readonly workerId: string;
  readonly head: Uint8Array;
  readonly webSocket: WebSocket;
};
type UpgradeReply = Unconfigured | NoWorker | ForwardFailure | WorkerAnswer | Upgraded;

/** Headers of one hop. */
const HANDSHAKE = ["Sec-WebSocket-Accept", "Sec-WebSocket-Extensions"];

/** Opens a WebSocket to a worker through the object. */
export async function requestUpgrade(
  stub: Pick<Fetcher, "fetch">,
  { requestId, affinity, port, receivedAt }: Omit<UpgradeCall, "head">,
  head: Uint8Array,
): Promise<UpgradeReply> {
  const query = new URLSearchParams({
    request: requestId,
    ...writeAffinity(affinity),
    ...(port !== undefined && { port: String(port) }),
    received: String(receivedAt),
  });
  const response = await stub.fetch(`https://object/direct?${query.toString()}`, {
    headers: { Upgrade: "websocket", [UPGRADE_HEAD]: packHead(head) },
  });
  const answered = response.headers.get(UPGRADE_HEAD);
  if (answered === null) return (await response.json()) as Unconfigured | NoWorker | ForwardFailure;
  const given = {
    workerId: response.headers.get(UPGRADE_WORKER) ?? "",
    head: unpackHead(answered),
  };
  const { webSocket, body } = response;
  return webSocket ? { kind: "upgraded", webSocket, ...given } : { kind: "answer", body, ...given };
}

/** Passes the WebSocket to the client. */
export function openUpgrade({ head, workerId, webSocket }: Upgraded, prefix: string): Response {
  const headers = answerHeaders(readHead({ head, workerId }), workerId, prefix);
  for (const name of HANDSHAKE) headers.delete(name);
  return new Response(null, { status: 101, webSocket, headers });
}

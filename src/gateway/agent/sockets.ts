/** WebSockets of agents: the presence of a host, its link for tunnels, and those to load-balanced endpoints and pods. */
import { ignoreFailure } from "../../std/errors.ts";
import { PRESENCE_BEAT, PRESENCE_REPLACED, presenceQuerySchema } from "../../contract/agent/agent.ts";
import { ServiceError } from "../../contract/errors.ts";
import { PRESENCE_SILENCE_MS } from "../../contract/limits.ts";
import type { Unconfigured } from "../../endpoint/messages.ts";
import { callEndpoint, resolveEndpoint } from "../../management/endpoints/endpoint-directory.ts";
import { recordStock } from "../../management/catalog/present-stock.ts";
import { fleetObject, hostObject, podObject } from "../../management/objects.ts";
import { runsPod } from "../../management/pods/pod-directory.ts";
import type { AgentContext } from "./context.ts";

const GOING_AWAY = 1001;

/**
 * `GET /agent/v1/presence?id=<id>`, upgraded: heartbeats show that the host is connected. The socket ends in the
 * Worker script, where waiting is free; Fleet is called only when the host falls silent.
 */
export function presence(context: AgentContext): Response {
  if (context.req.header("Upgrade")?.toLowerCase() !== "websocket") {
    throw new ServiceError("invalid_input", "A presence is a WebSocket: send 'Upgrade: websocket'.");
  }
  const query = presenceQuerySchema.safeParse(context.req.query());
  if (!query.success) {
    throw new ServiceError("invalid_input", "id: name the presence with letters, digits, _ and - only.");
  }
  const { 0: client, 1: server } = new WebSocketPair();
  const { hostId, accountId } = context.get("host");
  server.accept();
  listen(server, (silentSince) => {
    // When this call fails, Fleet notices when the host's next sync is overdue.
    const report = fleetObject(context.env, accountId)
      .hostSilent(hostId, query.data.id, silentSince)
      .then(({ stock }) => recordStock(context.env, accountId, stock));
    context.executionCtx.waitUntil(report.catch(ignoreFailure));
  });
  return new Response(null, { status: 101, webSocket: client });
}

/** Answers heartbeats until they stop, then reports once when the last one came. */
function listen(socket: WebSocket, onSilence: (silentSince: number) => void): void {
  let heardAt = Date.now();
  let isOver = false;
  const end = (silentSince: number | null): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    if (silentSince !== null) onSilence(silentSince);
    socket.close(GOING_AWAY);
  };
  const startTimer = () => setTimeout(() => end(heardAt), PRESENCE_SILENCE_MS);
  let timer = startTimer();
  socket.addEventListener("message", () => {
    if (isOver) return;
    heardAt = Date.now();
    clearTimeout(timer);
    timer = startTimer();
    socket.send(PRESENCE_BEAT);
  });
  socket.addEventListener("close", ({ reason }) => end(reason === PRESENCE_REPLACED ? null : Date.now()));
  socket.addEventListener("error", () => end(Date.now()));
}

type LinkReply =
  | Unconfigured
  | { readonly kind: "not_placed" }
  | { readonly kind: "opened"; readonly response: Response };

/** `GET /agent/v1/endpoints/<id>/link`, upgraded: carries requests in the frames of `src/link`. */
export async function openLink(context: AgentContext): Promise<Response> {
  requireUpgrade(context);
  const { hostId, accountId } = context.get("host");
  const endpoint = await resolveEndpoint(context.env, accountId, context.req.param("endpointId") ?? "");
  if (endpoint.type !== "LB") {
    throw new ServiceError(
      "wrong_endpoint_type",
      "Only load-balanced endpoints have links. Take jobs by exchange.",
    );
  }
  const url = `https://object/link?${new URLSearchParams({ host: hostId }).toString()}`;
  const reply = await callEndpoint(context.env, endpoint, async (stub): Promise<LinkReply> => {
    const answer = await stub.fetch(url, { headers: { Upgrade: "websocket" } });
    return answer.status === 101
      ? { kind: "opened", response: answer }
      : await answer.json<Exclude<LinkReply, { kind: "opened" }>>();
  });
  if (reply.kind === "opened") return reply.response;
  throw new ServiceError(
    "worker_not_assigned",
    `This host has no worker of endpoint ${endpoint.endpointId}, so it gets no requests of it. Sync first.`,
  );
}

/** `GET /agent/v1/pods/<id>/link`, upgraded: the same for the HTTP ports of a pod that this host runs. */
export async function openPodLink(context: AgentContext): Promise<Response> {
  requireUpgrade(context);
  const host = context.get("host");
  const podId = context.req.param("podId") ?? "";
  if (!(await runsPod(context.env, host, podId))) {
    throw new ServiceError(
      "worker_not_assigned",
      `This host does not run pod ${podId.slice(0, 64)}, so it gets no requests of it. Sync first.`,
    );
  }
  const url = `https://object/link?${new URLSearchParams({ host: host.hostId }).toString()}`;
  return await podObject(context.env, podId).fetch(url, { headers: { Upgrade: "websocket" } });
}

/** `GET /agent/v1/host/link`, upgraded: the same for tunnels to the containers of this host. */
export async function openHostLink(context: AgentContext): Promise<Response> {
  requireUpgrade(context);
  const { hostId } = context.get("host");
  const url = `https://object/link?${new URLSearchParams({ host: hostId }).toString()}`;
  return await hostObject(context.env, hostId).fetch(url, { headers: { Upgrade: "websocket" } });
}

function requireUpgrade(context: AgentContext): void {
  if (context.req.header("Upgrade")?.toLowerCase() === "websocket") return;
  throw new ServiceError("invalid_input", "A link is a WebSocket: send 'Upgrade: websocket'.");
}

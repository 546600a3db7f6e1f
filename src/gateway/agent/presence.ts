/**
 * A host's presence: a WebSocket that ends in this script, for which waiting is free, and beats. The Fleet object
 * hears of it only when it falls silent, so a host that is there costs no call of an object.
 */
import { PRESENCE_BEAT, PRESENCE_REPLACED, presenceQuerySchema } from "../../contract/agent/agent.ts";
import { PRESENCE_SILENCE_MS } from "../../contract/limits.ts";
import { ServiceError } from "../../contract/errors.ts";
import { fleetStub } from "../endpoint-directory.ts";
import type { AgentContext } from "./context.ts";

const GOING_AWAY = 1001;

/** `GET /agent/v1/presence?id=<id>`, upgraded: says by its beats that the host is there. */
export function presence(context: AgentContext): Response {
  if (context.req.header("Upgrade")?.toLowerCase() !== "websocket") {
    throw new ServiceError("invalid_input", "A presence is a WebSocket: send 'Upgrade: websocket'.");
  }
  const query = presenceQuerySchema.safeParse(context.req.query());
  if (!query.success) {
    throw new ServiceError("invalid_input", "id: name the presence with letters, digits, _ and - only.");
  }
  const { 0: client, 1: server } = new WebSocketPair();
  const { hostId } = context.get("host");
  server.accept();
  listen(server, (silentSince) => {
    // A fault here only delays the news until the host's next sync is overdue.
    const report = fleetStub(context.env).hostSilent(hostId, query.data.id, silentSince);
    context.executionCtx.waitUntil(report.catch(() => {}));
  });
  return new Response(null, { status: 101, webSocket: client });
}

/** Answers beats until there are none, and then says once when the last sign of life came. */
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

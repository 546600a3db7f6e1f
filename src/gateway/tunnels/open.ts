/** Opens a tunnel to a container through the object of its host, or resumes one. */
import { requireClient } from "../client-presence.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { ForwardFailure } from "../../forwarding/messages.ts";
import { encodeJson } from "../../link/link-messages.ts";
import type { RequestContext } from "../../management/context.ts";
import { hostObject } from "../../management/objects.ts";
import {
  type Container,
  notRunning,
  recordTunnel,
  requireContainer,
  type TunnelUse,
} from "../../management/tunnels/containers.ts";
import { ignoreFailure } from "../../std/errors.ts";
import { within } from "../../std/waiting.ts";
import type { TunnelHead } from "../../tunnel/tunnel-messages.ts";
import { requestUpgrade } from "../load-balancing/upgrade.ts";
import { tunnelIdleMs } from "./idle-limit.ts";

/** Time until the agent has opened the tunnel, the connection to the port included. */
const OPENING_LIMIT_MS = 30_000;

const INTERNAL_ERROR = 1011;

export type TunnelRequest = {
  readonly containerId: string;
  readonly use: TunnelUse;
  readonly tunnelId: string;
  readonly isResumed: boolean;
};

type OpenContext = {
  readonly req: { readonly raw: Request };
  readonly executionCtx: { waitUntil(work: Promise<unknown>): void };
};

/** The WebSocket of the tunnel. Its key and the headers of the client end here: the agent gets neither. */
export async function openTunnel(
  { req, executionCtx }: OpenContext,
  request: RequestContext,
  { containerId, use, tunnelId, isResumed }: TunnelRequest,
): Promise<Response> {
  const idleMs = tunnelIdleMs(request.env);
  const container = await requireContainer(request, containerId, use);
  const head = { kind: use.kind, tunnelId, isResumed, idleMs } satisfies TunnelHead;
  const call = {
    requestId: crypto.randomUUID(),
    affinity: { mode: "strict", workerId: container.id } as const,
    ...(use.kind === "tcp" && { port: use.port }),
    receivedAt: request.now,
  };
  const abort = (reason: "aborted" | "timeout"): void => {
    const aborted = hostObject(request.env, container.hostId).abortForwarded(call.requestId, reason);
    executionCtx.waitUntil(aborted.catch(ignoreFailure)); // an unreachable object has lost the request
  };
  req.raw.signal.addEventListener("abort", () => abort("aborted"));
  requireClient(req.raw.signal);
  const host = hostObject(request.env, container.hostId);
  const reply = await within(OPENING_LIMIT_MS, requestUpgrade(host, call, encodeJson(head)), LATE);
  if (reply.kind === "late") abort("timeout");
  if (reply.kind !== "upgraded") throw errorOf(reply, container);
  if (!isResumed) await recordOrClose(reply.webSocket, recordTunnel(request, container, use));
  return new Response(null, { status: 101, webSocket: reply.webSocket });
}

const LATE = { kind: "late" } as const;

/** No tunnel is open that the audit log does not have. */
async function recordOrClose(webSocket: WebSocket, recorded: Promise<void>): Promise<void> {
  try {
    await recorded;
  } catch (error) {
    webSocket.accept();
    webSocket.close(INTERNAL_ERROR);
    throw error;
  }
}

type Unopened =
  | Exclude<Awaited<ReturnType<typeof requestUpgrade>>, { readonly kind: "upgraded" }>
  | typeof LATE;

function errorOf(reply: Unopened, { id }: Container): ServiceError {
  switch (reply.kind) {
    case "wait":
    case "worker_gone":
    case "unconfigured": // no object of a host is that
      return new ServiceError(
        "host_not_connected",
        `The host that runs ${id} has not connected for tunnels: it is away, or its agent is too old for them. ` +
          "Try again in a moment, or update the agent.",
        { retryAfterSeconds: 1 },
      );
    case "overloaded":
      return new ServiceError(
        "rate_limited",
        `${reply.limit} tunnels to containers of this host are open, which is its limit. Close some, or try again later.`,
        { retryAfterSeconds: 1 },
      );
    case "answer":
      return new ServiceError("worker_failed", `The agent of the host opened no tunnel to ${id}.`);
    case "late":
      return new ServiceError(
        "worker_failed",
        `The host did not open the tunnel within ${OPENING_LIMIT_MS / 1_000} s. Try again.`,
      );
    case "failed":
      return errorOfFailure(reply);
  }
}

function errorOfFailure({ reason, detail }: ForwardFailure): ServiceError {
  switch (reason) {
    case "worker_gone":
      return notRunning(detail);
    case "tunnel_gone":
      return new ServiceError("tunnel_gone", detail);
    case "aborted":
    case "too_large":
    case "timeout":
    case "worker_failed":
    case "protocol":
      return new ServiceError("worker_failed", detail);
  }
}

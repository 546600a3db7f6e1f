/** Operations of a host on itself: `/agent/v1/join` and `/agent/v1/host`. */
import { countRequest, networkOf } from "../../auth/request-rates.ts";
import { AGENT_VERSION, AGENT_VERSION_MIN } from "../../contract/agent/agent-version.ts";
import { type HostReply, type JoinReply, joinRequestSchema } from "../../contract/agent/agent.ts";
import { ServiceError } from "../../contract/errors.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { noticeFor } from "../../domain/placement/agent-support.ts";
import { drainOwnHost, joinHost, removeOwnHost } from "../../management/hosts/host-enrollment.ts";
import { readBody } from "../body.ts";
import type { AgentContext } from "./context.ts";

/** `POST /agent/v1/join`: exchanges a join token, valid once, for a host and its own token. */
export async function join(context: AgentContext): Promise<Response> {
  const network = networkOf(context.env, context.req.raw);
  if (network !== undefined) await countRequest(context.env, "join", network, Date.now());
  const { joinToken, name, agentVersion } = await readBody(
    context.req.raw,
    joinRequestSchema,
    CONTROL_BODY_MAX_BYTES,
  );
  const notice = noticeFor(agentVersion);
  if (notice?.kind === "refused") throw new ServiceError("invalid_input", notice.message);
  return context.json((await joinHost(context.env, joinToken, name)) satisfies JoinReply);
}

/** `GET /agent/v1/host`: changes nothing; a host checks with it whether its token is accepted. */
export function describeHost(context: AgentContext): Response {
  const { hostId, name } = context.get("host");
  const agent = { current: AGENT_VERSION, minimum: AGENT_VERSION_MIN };
  return context.json({ hostId, name, agent } satisfies HostReply);
}

/** `POST /agent/v1/host/drain`: the host gets no new workers; its workers stop, busy ones after their job. */
export async function drainHost(context: AgentContext): Promise<Response> {
  await drainOwnHost(context.env, context.get("host"), operationOf(context));
  return context.json({});
}

/** `POST /agent/v1/host/leave`: like `hostRemove`, called by the host itself. */
export async function leaveFleet(context: AgentContext): Promise<Response> {
  await removeOwnHost(context.env, context.get("host"), operationOf(context));
  return context.json({});
}

/** The name of the operation in the audit log. */
function operationOf({ req }: AgentContext): string {
  return `${req.method} ${req.path}`;
}

/** What a host says of itself as a whole: `/agent/v1/host`. */
import { AGENT_VERSION, AGENT_VERSION_MIN } from "../../contract/agent/agent-version.ts";
import type { HostReply } from "../../contract/agent/agent.ts";
import { openDatabase } from "../../db/database.ts";
import { findOwnHost, auditHostChange, revokeHost } from "../../db/hosts.ts";
import type { Author } from "../../db/audit-log.ts";
import { fleetObject } from "../../management/fleet.ts";
import type { AgentContext } from "./context.ts";

/** `GET /agent/v1/host`: changes nothing, so that a host can look whether its token is accepted. */
export async function describeHost(context: AgentContext): Promise<Response> {
  const { hostId, name } = context.get("host");
  const agent = { current: AGENT_VERSION, minimum: AGENT_VERSION_MIN };
  return context.json({ hostId, name, agent } satisfies HostReply);
}

/** `POST /agent/v1/host/drain`: the host gets no new workers; those it has go, busy ones after their job. */
export async function drainHost(context: AgentContext): Promise<Response> {
  const { hostId, accountId, name } = context.get("host");
  const database = openDatabase(context.env.DB);
  const host = await findOwnHost(database, accountId, hostId);
  if (host) await auditHostChange(database, authorOf(context), host, ["drained"]);
  await fleetObject(context.env).changeHost({ hostId, accountId, name, drained: true });
  return context.json({});
}

/** `POST /agent/v1/host/leave`: what `hostRemove` does, asked by the host itself. */
export async function leaveFleet(context: AgentContext): Promise<Response> {
  const { hostId, accountId } = context.get("host");
  const database = openDatabase(context.env.DB);
  const host = await findOwnHost(database, accountId, hostId);
  if (host) await revokeHost(database, authorOf(context), host);
  await fleetObject(context.env).removeHost(hostId);
  return context.json({});
}

/** A host acts for its account, and no key of anybody's stands behind that. */
function authorOf(context: AgentContext): Author {
  const { accountId } = context.get("host");
  const operation = `${context.req.method} ${context.req.path}`;
  return { accountId, apiKeyId: "", operation, now: Date.now() };
}

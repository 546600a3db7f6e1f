import { syncRequestSchema, type SyncReply } from "../../contract/agent.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { readBody } from "../body.ts";
import { awaitRing } from "../doorbell.ts";
import { fleetStub } from "../endpoint-directory.ts";
import { resolveAssignments } from "./assignment.ts";
import type { AgentContext } from "./context.ts";

/** `POST /agent/v1/sync`: what a host has against what it should have; held while the two agree. */
export async function sync(context: AgentContext): Promise<Response> {
  const request = await readBody(context.req.raw, syncRequestSchema, CONTROL_BODY_MAX_BYTES);
  const { hostId, accountId } = context.get("host");
  const untilAt = Date.now() + request.holdMs;
  const fleet = fleetStub(context.env);

  const first = await fleet.sync({ hostId, accountId, ...request });
  if (first.kind === "quiet") {
    const query = { host: hostId, revision: `${request.appliedRevision}`, holdMs: `${request.holdMs}` };
    await awaitRing(fleet, query, untilAt, context.req.raw.signal);
  }
  const assigned = first.kind === "assignments" ? first : await fleet.assignments(hostId);
  const assignments = await resolveAssignments(context.env, accountId, assigned.workers);
  return context.json({ revision: assigned.revision, assignments } satisfies SyncReply);
}

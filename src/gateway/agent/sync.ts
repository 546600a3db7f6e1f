import { syncRequestSchema, type SyncReply, type WorkerReport } from "../../contract/agent/agent.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { noticeFor } from "../../domain/placement/agent-support.ts";
import type { WorkerStart } from "../../domain/jobs/worker-start.ts";
import { ServiceError } from "../../contract/errors.ts";
import { readBody } from "../body.ts";
import type { FleetSyncReply } from "../../fleet/messages.ts";
import { awaitWakeUp } from "../wake-up.ts";
import { fleetObject } from "../../management/objects.ts";
import { recordStock } from "../../management/catalog/present-stock.ts";
import { resolveAssignments } from "../../management/assignments/assignments.ts";
import { holdWithin, type AgentContext } from "./context.ts";

const REMOVED =
  "Unauthorized: this host was removed, or has ended with its API key. Join again with a new join token.";

/** `POST /agent/v1/sync`: receives the state of a host and answers with its assignments; waits while the two agree. */
export async function sync(context: AgentContext): Promise<Response> {
  const receivedAt = Date.now();
  const request = await readBody(context.req.raw, syncRequestSchema, CONTROL_BODY_MAX_BYTES);
  const { hostId, accountId, name, expiresAt } = context.get("host");
  const holdMs = holdWithin(context, request.holdMs);
  const untilAt = Date.now() + holdMs;
  const { dataCenterId } = request.inventory;
  const fleet = fleetObject(context.env, accountId, dataCenterId === undefined ? [] : [dataCenterId]);

  const workers = request.workers.map((report) => ({ ...report, start: startOf(report, receivedAt) }));
  const first = await fleet.sync({ hostId, accountId, name, ...request, holdMs, workers });
  if (first.stock) context.executionCtx.waitUntil(recordStock(context.env, accountId, first.stock));
  const later = async ({ assigned: known }: Extract<FleetSyncReply, { kind: "quiet" }>) => {
    const { appliedRevision, presence } = request;
    const query = { host: hostId, revision: `${appliedRevision}`, holdMs: `${holdMs}` };
    const channel = presence ? { ...query, presence } : query;
    const wakeUp = await awaitWakeUp(fleet, channel, untilAt, context.req.raw.signal);
    return wakeUp === "over" && known ? known : await fleet.assignments(hostId);
  };
  const assigned = first.kind === "quiet" ? await later(first) : first;
  // Fleet knows of a removal at once; the cached token may be accepted a while longer.
  if (assigned.kind === "removed" || Date.now() >= (expiresAt ?? Number.POSITIVE_INFINITY))
    throw new ServiceError("unauthorized", REMOVED);
  const { origin } = new URL(context.req.url);
  const assignments = await resolveAssignments(context.env, accountId, assigned.workers, origin);
  const notice = noticeFor(request.agentVersion);
  const { revision, podVolumes, clusterNetwork } = assigned;
  const reply = {
    ...{ revision, assignments, podVolumes: [...podVolumes] },
    ...(clusterNetwork && { clusterNetwork }),
    ...(notice && { notice }),
  };
  return context.json(reply satisfies SyncReply);
}

/** The times of the start of a worker, in the clock of the edge; null when its agent reports none. */
function startOf({ ago }: WorkerReport, receivedAt: number): WorkerStart | null {
  if (!ago || Object.keys(ago).length === 0) return null;
  return Object.fromEntries(
    Object.entries(ago).flatMap(([step, agoMs]) => {
      return agoMs === undefined ? [] : [[`${step}At`, receivedAt - agoMs] as const];
    }),
  );
}

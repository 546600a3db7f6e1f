/** Pods, for which clients take workers: `/v1/pods`, and the logs of a worker at `/v1/pod/{podId}/logs`. */
import { LOG_AHEAD_MAX_MS, logRetentionDays } from "../../management/logs/log-retention.ts";
import { missingEndpointAccess } from "../../auth/access.ts";
import { LOG_TAIL_DEFAULT, type LogSource, type PodLogs } from "../../contract/agent/log.ts";
import { podCreateSchema, type RestPod } from "../../contract/rest/rest-pod.ts";
import { listOwnEndpoints } from "../../management/endpoints/endpoints.ts";
import { DAY_MS, SEQ_PER_MS } from "../../domain/logs/log-key.ts";
import { noCapacity, podNotFound } from "../../management/catalog/absent-pods.ts";
import type { RequestContext } from "../../management/context.ts";
import { listWorkers } from "../../management/endpoints/worker-pods.ts";
import { findLines } from "../../management/logs/log-reader.ts";
import { idOf, type RestContext } from "./context.ts";
import { readLooseInput } from "./input.ts";

export function getPods(context: RestContext): Response {
  return context.json([] satisfies RestPod[]);
}

export async function postPod(context: RestContext): Promise<Response> {
  await readLooseInput(context, podCreateSchema);
  throw noCapacity();
}

/** Every operation on one pod. */
export function refusePod(context: RestContext): Response {
  throw podNotFound(idOf(context, "podId"));
}

/** The last log lines of an existing worker, by source. */
export async function getPodLogs(context: RestContext): Promise<Response> {
  const request = context.get("request");
  const workerId = idOf(context, "podId");
  const endpointId = await endpointOf(request, workerId);
  if (endpointId === undefined) throw podNotFound(workerId);
  const [container, system] = await Promise.all([
    lastLines(request, endpointId, workerId, "container"),
    lastLines(request, endpointId, workerId, "system"),
  ]);
  return context.json({ container, system } satisfies PodLogs);
}

/** The endpoint of a worker, if the caller may read it. */
async function endpointOf(request: RequestContext, workerId: string): Promise<string | undefined> {
  const ids = (await listOwnEndpoints(request)).map(({ id }) => id);
  const readable = ids.filter((id) => missingEndpointAccess(request.principal, id, "read") === undefined);
  const workers = await listWorkers(request, readable);
  return workers.find((worker) => worker.workerId === workerId)?.endpointId;
}

async function lastLines(
  { env, principal: { accountId }, now }: RequestContext,
  endpointId: string,
  workerId: string,
  source: LogSource,
): Promise<string[]> {
  const { lines } = await findLines(env.LOGS, {
    owner: { accountId, endpointId },
    filter: { workerId, source },
    from: (now - logRetentionDays(env) * DAY_MS) * SEQ_PER_MS,
    before: { seq: (now + LOG_AHEAD_MAX_MS) * SEQ_PER_MS, source, workerId },
    limit: LOG_TAIL_DEFAULT,
  });
  return lines.map(({ line }) => line);
}

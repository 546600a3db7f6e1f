import type { MetricsWindow } from "../../contract/metrics.ts";
import type { ActivityReport } from "../../endpoint/messages.ts";
import { logFailure } from "../../failure-log.ts";
import type { RequestContext } from "../context.ts";
import { endpointObject } from "../objects.ts";

/** What an endpoint of the calling account did; null when its object knows nothing of it or cannot be reached. */
export async function reportMetrics(
  { env }: Pick<RequestContext, "env">,
  endpointId: string,
  window: MetricsWindow,
): Promise<ActivityReport | null> {
  try {
    const reply = await endpointObject(env, endpointId).activity(window);
    return reply.kind === "activity" ? { requests: reply.requests, workers: reply.workers } : null;
  } catch (cause) {
    logFailure("metrics_not_read", { endpointId }, cause);
    return null;
  }
}

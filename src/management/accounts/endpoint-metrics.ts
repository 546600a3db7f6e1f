import type { MetricsWindow } from "../../contract/metrics.ts";
import type { EndpointObject } from "../../endpoint/endpoint-object.ts";
import type { ActivityReport } from "../../endpoint/messages.ts";
import { endpointObjectName } from "../../durable/ports.ts";
import { logFailure } from "../../failure-log.ts";
import type { RequestContext } from "../context.ts";

/** What an endpoint of the calling account did; null when its object knows nothing of it or cannot be reached. */
export async function reportMetrics(
  { env }: Pick<RequestContext, "env">,
  endpointId: string,
  window: MetricsWindow,
): Promise<ActivityReport | null> {
  const name = endpointObjectName(endpointId);
  const stub = env.ENDPOINT.getByName(name) as unknown as Pick<EndpointObject, "activity">;
  try {
    const reply = await stub.activity(window);
    return reply.kind === "activity" ? { requests: reply.requests, workers: reply.workers } : null;
  } catch (cause) {
    logFailure("metrics_not_read", { endpointId }, cause);
    return null;
  }
}

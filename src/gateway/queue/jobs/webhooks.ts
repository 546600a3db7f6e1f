import type { RedeliverOutcome } from "../../../endpoint/messages.ts";
import { ServiceError } from "../../../contract/errors.ts";
import { jobNotFound, type QueueContext } from "../context.ts";
import { callWithinLimits } from "../limits.ts";

/** `GET /webhooks/<id>`: what became of the job's webhook, attempt by attempt. */
export async function webhookLog(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  const reply = await callWithinLimits(context, (stub) => stub.webhookLog(jobId));
  if (reply.kind === "not_found") throw jobNotFound(jobId);
  return context.json(reply.log);
}

/** `POST /webhooks/<id>/redeliver`: sends the webhook of an ended job once more. */
export async function redeliver(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  const reply = await callWithinLimits(context, (stub) => stub.redeliver(jobId));
  switch (reply.kind) {
    case "not_found":
      throw jobNotFound(jobId);
    case "refused":
      throw new ServiceError("invalid_input", `Job ${jobId} ${REDELIVERY_ERRORS[reply.reason]}`);
    case "log":
      return context.json(reply.log);
  }
}

const REDELIVERY_ERRORS: Record<Extract<RedeliverOutcome, { readonly kind: "refused" }>["reason"], string> = {
  no_webhook:
    "has no webhook, so there is nothing to deliver. Submit jobs with `webhook` to be told of their end.",
  not_ended: "has not ended yet. Its webhook will be called when it has.",
  never_sent: "was purged, and purged jobs call no webhook.",
};

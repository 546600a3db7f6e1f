/** The webhook of a job request. */
import type { ReceivedJobRequest } from "../../../contract/job.ts";
import { webhookUrlIssue } from "../../../domain/webhooks/webhook-url.ts";
import type { Env } from "../../../env.ts";
import { ServiceError } from "../../../contract/errors.ts";

/** The address to call at the job's end; null for none. Throws invalid_input when it may not be called; `path` leads to the request. */
export function readWebhook(
  env: Env,
  request: Pick<ReceivedJobRequest, "webhook" | "webhookV2">,
  path = "",
): string | null {
  const name = request.webhook ? "webhook" : "webhookV2";
  const webhook = request[name];
  if (!webhook) return null;
  const issue = webhookUrlIssue(new URL(webhook), env.WEBHOOK_ALLOW_PRIVATE === "true");
  if (issue !== null) throw new ServiceError("invalid_input", `${path}${name} ${issue}.`);
  return webhook;
}

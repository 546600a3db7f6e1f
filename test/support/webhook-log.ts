/** What becomes of the webhooks of an account. */
import { Webhook } from "standardwebhooks";
import type { WebhookLogBody } from "../../src/contract/webhook.ts";
import { managementApi } from "../../standalone/management-api.ts";
import type { QueueClient } from "./queue-client.ts";
import { until } from "./until.ts";
import type { Received } from "./webhook-receiver.ts";

/** Checks the signature of a call, with the secret of an account; answers the body, or throws. */
export type Verify = (call: Received) => { readonly id: string; readonly status: string };

export async function verifierOf(target: {
  readonly baseUrl: string;
  readonly apiKey: string;
}): Promise<Verify> {
  const api = managementApi(target.baseUrl, target.apiKey);
  const { myself } = await api.query<{ myself: { webhookSecret: { secret: string } } }>(
    "{ myself { webhookSecret { secret } } }",
  );
  const webhook = new Webhook(myself.webhookSecret.secret);
  return ({ body, headers }) => webhook.verify(body, { ...headers }) as ReturnType<Verify>;
}

/** What the log says of a webhook once its state is that: it is written after the call. */
export async function untilLogged(
  client: QueueClient,
  jobId: string,
  state: string,
): Promise<WebhookLogBody> {
  const look = async () => {
    const log = await client.webhookLog(jobId);
    if (log.state !== state) throw new Error(JSON.stringify(log));
    return log;
  };
  return until(look, `the state ${state} of the webhook of ${jobId}`, 60_000);
}

import type { WebhookSecret } from "../../contract/webhook.ts";
import { rotateWebhookSecret } from "../../db/webhook-secrets.ts";
import type { AccountRecord } from "../../db/accounts.ts";
import type { RequestContext } from "../../management/context.ts";
import { announceWebhookSecrets } from "../../management/endpoints/endpoint-announcement.ts";
import type { GraphqlContext } from "../context.ts";

type Shown = {
  readonly secret: string;
  readonly createdAt: number;
  readonly previousValidUntil: number | null;
};

export const webhookResolvers = {
  User: {
    webhookSecret: async (
      _account: AccountRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<Shown | null> => show(await loaders.webhookSecrets.load()),
  },
  Mutation: {
    webhookSecretRotate: async (
      _parent: unknown,
      _args: unknown,
      context: RequestContext,
    ): Promise<Shown | null> => {
      const secrets = await rotateWebhookSecret(context.db, context.principal.accountId, context.now);
      await announceWebhookSecrets(context, secrets);
      return show(secrets);
    },
  },
};

function show(secrets: readonly WebhookSecret[]): Shown | null {
  const [current, previous] = secrets;
  if (current === undefined) return null;
  const { secret, createdAt } = current;
  return { secret, createdAt, previousValidUntil: previous?.validUntil ?? null };
}

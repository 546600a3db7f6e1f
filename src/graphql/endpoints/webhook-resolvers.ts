import type { WebhookSecret } from "../../contract/webhook.ts";
import type { AccountRecord } from "../../db/accounts.ts";
import { suffices } from "../../domain/accounts/permissions.ts";
import { authorOf, type RequestContext } from "../../management/context.ts";
import { announceWebhookSecrets } from "../../management/endpoints/endpoint-announcement.ts";
import { ServiceError } from "../../contract/errors.ts";
import { rotateWebhookSecret } from "../../management/secrets/webhook-secrets.ts";
import type { GraphqlContext } from "../context.ts";

type WebhookSecretView = {
  readonly secret: string;
  readonly createdAt: number;
  readonly previousValidUntil: number | null;
};

export const webhookResolvers = {
  User: {
    /** Whoever has it can sign in our name, so it is shown to whoever may make a new one anyhow. */
    webhookSecret: async (
      _account: AccountRecord,
      _args: unknown,
      { loaders, principal }: GraphqlContext,
    ): Promise<WebhookSecretView | null> =>
      suffices(principal.permissions.graphql, "write") ? toView(await loaders.webhookSecrets.load()) : null,
  },
  Mutation: {
    webhookSecretRotate: async (
      _parent: unknown,
      _args: unknown,
      context: RequestContext,
    ): Promise<WebhookSecretView | null> => {
      const secrets = await rotateWebhookSecret(context.env, authorOf(context));
      await announceWebhookSecrets(context, secrets);
      return toView(secrets);
    },
  },
};

function toView(secrets: readonly WebhookSecret[]): WebhookSecretView {
  const [current, previous] = secrets;
  if (current === undefined) {
    throw new ServiceError(
      "not_configured",
      "webhookSecret: does not open, since ENCRYPTION_KEYS lacks its key; the operator puts the key back, or webhookSecretRotate makes a new secret",
    );
  }
  const { secret, createdAt } = current;
  return { secret, createdAt, previousValidUntil: previous?.validUntil ?? null };
}

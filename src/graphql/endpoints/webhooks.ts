import type { WebhookSecret } from "../../contract/webhook.ts";
import { suffices } from "../../domain/accounts/permissions.ts";
import { authorOf } from "../../management/context.ts";
import { announceWebhookSecrets } from "../../management/endpoints/endpoint-announcement.ts";
import { ServiceError } from "../../contract/errors.ts";
import { rotateWebhookSecret } from "../../management/secrets/webhook-secrets.ts";
import { withoutArguments } from "../context.ts";

export const webhookSdl = /* GraphQL */ `
  type Mutation {
    "Makes a new secret for the webhooks of the account. Calls are signed with the old one as well for another 24 hours."
    webhookSecretRotate: WebhookSecret
  }

  type User {
    "The secret with which receivers verify calls of the account's webhooks, as in Standard Webhooks. Null unless the key may write (graphql: WRITE), since its holder can sign."
    webhookSecret: WebhookSecret
  }

  type WebhookSecret {
    secret: String
    createdAt: DateTime
    "Until when calls are signed with the secret before this one as well."
    previousValidUntil: DateTime
  }
`;

type WebhookSecretView = {
  readonly secret: string;
  readonly createdAt: number;
  readonly previousValidUntil: number | null;
};

export const webhookResolvers = {
  User: {
    /** Its holder can sign for the account, so only a key that may rotate it sees it. */
    webhookSecret: withoutArguments(async ({ loaders, principal }) =>
      suffices(principal.permissions.graphql, "write") ? toView(await loaders.webhookSecrets.load()) : null,
    ),
  },
  Mutation: {
    webhookSecretRotate: withoutArguments(async (context) => {
      const secrets = await rotateWebhookSecret(context.env, authorOf(context));
      await announceWebhookSecrets(context, secrets);
      return toView(secrets);
    }),
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

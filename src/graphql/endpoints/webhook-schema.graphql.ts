export const webhookSdl = /* GraphQL */ `
  type Mutation {
    "Makes a new secret for the webhooks of the account. Calls carry a signature of the old one for another 24 hours."
    webhookSecretRotate: WebhookSecret
  }

  type User {
    "With what receivers verify the calls of the account's webhooks, as in Standard Webhooks. Null unless the key may write (graphql: WRITE), since whoever has the secret can sign."
    webhookSecret: WebhookSecret
  }

  type WebhookSecret {
    secret: String
    createdAt: DateTime
    "Until when calls are signed with the secret before this one as well."
    previousValidUntil: DateTime
  }
`;

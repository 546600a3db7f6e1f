import {
  changeSecretDescription,
  changeSecretValue,
  createSecret,
  listOwnSecrets,
  removeSecret,
  secretCreationSchema,
  secretDeletionSchema,
  secretDescriptionSchema,
  secretValueSchema,
} from "../../management/secrets/secrets.ts";
import { describeEncryption } from "../../management/secrets/reseal.ts";
import { withArguments, withInput, withoutArguments } from "../context.ts";

export const secretSdl = /* GraphQL */ `
  type Mutation {
    """
    Stores a value encrypted, for variables of templates and endpoints that contain {{ SECRET_name }}.
    A taken name gives SECRET_NAME_TAKEN.
    """
    secretCreate(input: SecretCreateInput): Secret
    "Running workers continue; later starts of workers that refer to it fail until a secret of that name exists again."
    secretDelete(id: ID): Void
    "Takes effect at the next start of a container."
    secretValueUpdate(input: SecretValueUpdateInput): Secret
    "Changes the description of a secret; its value stays."
    secretDescriptionUpdate(input: SecretDescriptionUpdateInput): Secret
  }

  type User {
    "Oldest first, without their values, which no operation returns."
    secrets: [Secret!]!
    "For the operator, to rotate the key of the installation: null for every key but ROOT_API_KEY, since it counts over all accounts."
    encryption: Encryption
  }

  type Encryption {
    "The key that seals new values: the first of ENCRYPTION_KEYS."
    keyId: String
    "Sealed values of the whole installation that an older key, or no key, seals. At 0 the older keys can be removed."
    sealedUnderOlderKeys: Int
  }

  type Secret {
    id: ID!
    name: String!
    description: String
    createdAt: DateTime
    "Last change of the value or the description."
    updatedAt: DateTime
  }

  input SecretCreateInput {
    "Letters, digits, _, - and ., at most 191; unique within the account."
    name: String
    "1 byte to 64 KiB."
    value: String
    "For users; up to 1000 characters."
    description: String
  }
  input SecretValueUpdateInput {
    id: ID
    "1 byte to 64 KiB."
    value: String
  }
  input SecretDescriptionUpdateInput {
    id: ID
    "Empty or null: none."
    description: String
  }
`;

export const secretResolvers = {
  Mutation: {
    secretCreate: withInput(secretCreationSchema, createSecret),
    secretDelete: withArguments(secretDeletionSchema, (context, { id }) => removeSecret(context, id)),
    secretValueUpdate: withInput(secretValueSchema, changeSecretValue),
    secretDescriptionUpdate: withInput(secretDescriptionSchema, changeSecretDescription),
  },
  User: {
    secrets: withoutArguments(listOwnSecrets),
    /** Counts over all accounts, so only the operator may see it. */
    encryption: withoutArguments(async ({ env, principal }) =>
      principal.isRoot ? await describeEncryption(env) : null,
    ),
  },
};

import {
  changeSecretDescription,
  changeSecretValue,
  checkSecretCreation,
  createSecret,
  listOwnSecrets,
  removeSecret,
} from "../../management/secrets/secrets.ts";
import { onlyIdSchema } from "../../management/input-schemas.ts";
import { inputSdl, typeSdl } from "../../management/nouns/field.ts";
import {
  secretCreationSchema,
  secretDescriptionField,
  secretDescriptionSchema,
  secretFields,
  secretValueField,
  secretValueSchema,
  secretViewFields,
} from "../../management/nouns/secret.ts";
import { describeEncryption } from "../../management/secrets/reseal.ts";
import { dryRunSdl, withArguments, withDryRun, withInput, withoutArguments } from "../context.ts";

export const secretSdl = /* GraphQL */ `
  type Mutation {
    """
    Stores a value encrypted, for variables of templates and endpoints that contain {{ SECRET_name }}.
    A taken name gives SECRET_NAME_TAKEN.
    """
    secretCreate(
      input: SecretCreateInput
      ${dryRunSdl}
    ): Secret
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
    ${typeSdl(secretViewFields)}
    createdAt: DateTime
    "Last change of the value or the description."
    updatedAt: DateTime
  }

  input SecretCreateInput {
    ${inputSdl(secretFields)}
  }
  input SecretValueUpdateInput {
    id: ID
    ${inputSdl(secretValueField)}
  }
  input SecretDescriptionUpdateInput {
    id: ID
    ${inputSdl(secretDescriptionField)}
  }
`;

export const secretResolvers = {
  Mutation: {
    secretCreate: withDryRun(secretCreationSchema, checkSecretCreation, createSecret),
    secretDelete: withArguments(onlyIdSchema, (context, { id }) => removeSecret(context, id)),
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

export const secretSdl = /* GraphQL */ `
  type Mutation {
    """
    Keeps a value encrypted, for variables of templates and endpoints that hold {{ SECRET_name }}.
    A taken name gives SECRET_NAME_TAKEN.
    """
    secretCreate(input: SecretCreateInput): Secret
    "Running workers go on; later starts of those that refer to it fail until there is one of that name again."
    secretDelete(id: ID): Void
    "Takes effect at the next start of a container."
    secretValueUpdate(input: SecretValueUpdateInput): Secret
    "Changes what is said of a secret; its value stays."
    secretDescriptionUpdate(input: SecretDescriptionUpdateInput): Secret
  }

  type User {
    "Oldest first, without their values, which no operation returns."
    secrets: [Secret!]!
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
    "1 byte to 64 KiB of text."
    value: String
    "For people; up to 1000 characters."
    description: String
  }
  input SecretValueUpdateInput {
    id: ID
    "1 byte to 64 KiB of text."
    value: String
  }
  input SecretDescriptionUpdateInput {
    id: ID
    "Empty or null: none."
    description: String
  }
`;

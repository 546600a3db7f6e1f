import * as z from "zod";
import type { EndpointRecord } from "../../management/endpoints/endpoints.ts";
import { endpointKey } from "../../auth/derived-keys.ts";
import {
  accessToEndpoint,
  levelOf,
  type Access,
  type PermissionLevel,
} from "../../domain/accounts/permissions.ts";
import { keyChangeSchema, newKeySchema } from "../../management/accounts/api-key-input.ts";
import {
  changeApiKey,
  createApiKey,
  listOwnApiKeys,
  revokeApiKey,
  type ApiKeyRecord,
} from "../../management/accounts/api-keys.ts";
import type { RequestContext } from "../../management/context.ts";
import type { Host } from "../../management/hosts/hosts.ts";
import { optional, idSchema } from "../../management/input-schemas.ts";
import { withArguments, withInput, withoutArguments, type GraphqlContext } from "../context.ts";

export const keySdl = /* GraphQL */ `
  type Query {
    "The keys of the account, revoked and expired ones included, the newest first. The same as myself { apiKeys }."
    apiKeys: [ApiKey]
  }

  type Mutation {
    """
    Makes an API key; its token is shown only here. A level or permissions state what it may do:
    createApiKey(input: { name: "ci", level: READ_ONLY })
    createApiKey(input: { name: "app", permissions: { endpoints: [{ endpointId: "abc", access: WRITE }] } })
    A key gives no more, and for no longer, than it has itself.
    """
    createApiKey(input: ApiKeyInput): CreatedApiKey
    "Changes the name or what the key may do; a narrower key is in force everywhere within 30 seconds."
    updateApiKey(input: UpdateApiKeyInput): ApiKey
    """
    Ends a key for ever, everywhere within 30 seconds, and removes the hosts that joined through it (hosts of ApiKey).
    keepHosts: true leaves these; revoking the key once more without it removes them later.
    The key of the environment (ROOT_API_KEY) is ended by changing the environment.
    """
    revokeApiKey(id: ID, keepHosts: Boolean): Void
  }

  type User {
    "The keys of the account, revoked and expired ones included, the newest first."
    apiKeys: [ApiKey]
  }

  enum ApiKeyLevel {
    "Everything in the account, but shell only where permissions show it."
    ALL
    "Looks at everything, changes nothing."
    READ_ONLY
    "What permissions say."
    RESTRICTED
  }

  enum ApiKeyAccess {
    NONE
    "Looks: queries; status, results, lists and health of endpoints."
    READ
    "Looks and changes: mutations; submitting, cancelling and retrying jobs."
    WRITE
  }

  input ApiKeyInput {
    "For users: what the key is for."
    name: String
    "ALL or READ_ONLY; RESTRICTED needs permissions and may then be omitted."
    level: ApiKeyLevel
    "What a RESTRICTED key may do."
    permissions: ApiKeyPermissionsInput
    "ISO 8601. A key without an end is good until it is revoked."
    expiresAt: DateTime
    "Instead of expiresAt: seconds from now, at least 60."
    expiresInSeconds: Int
  }
  input UpdateApiKeyInput {
    id: ID
    "Up to 191 characters; omitted it stays."
    name: String
    "With permissions, as in ApiKeyInput, replaces all that the key may do."
    level: ApiKeyLevel
    "What the key may do from now on, if it is RESTRICTED."
    permissions: ApiKeyPermissionsInput
  }
  "Omitted members are NONE."
  input ApiKeyPermissionsInput {
    "The management API: GraphQL and REST."
    graphql: ApiKeyAccess
    "All endpoints alike, those that are made later included; not together with endpoints."
    allEndpoints: ApiKeyAccess
    "These endpoints and no others; at most 100."
    endpoints: [EndpointAccessInput]
    """
    Running commands in containers of the account and reaching their ports, through tunnels; omitted it is false. No
    level includes it.
    """
    shell: Boolean
  }
  input EndpointAccessInput {
    endpointId: String
    "To its jobs and requests."
    access: ApiKeyAccess
  }

  type CreatedApiKey {
    apiKey: ApiKey
    "The key itself, for 'Authorization: Bearer'. Only its hash is stored: it cannot be shown again."
    token: String
  }

  type ApiKey {
    id: ID
    name: String
    "The first characters of the key; empty for the key of the environment."
    hint: String
    level: ApiKeyLevel
    permissions: ApiKeyPermissions
    createdAt: DateTime
    "To the hour; null before the first use."
    lastUsedAt: DateTime
    "Null: does not expire."
    expiresAt: DateTime
    "Null: is not revoked. Revoked and expired keys are listed for another 90 days."
    revokedAt: DateTime
    "The key of this call."
    isCurrent: Boolean
    "Hosts that joined with a join token of this key, and are not removed."
    hosts: [Host]
  }
  type ApiKeyPermissions {
    graphql: ApiKeyAccess
    "Null when endpoints are named one by one."
    allEndpoints: ApiKeyAccess
    "Null when all endpoints are alike."
    endpoints: [EndpointAccess!]
    "Running commands in containers of the account and reaching their ports, through tunnels."
    shell: Boolean
  }
  type EndpointAccess {
    endpointId: String!
    access: ApiKeyAccess!
  }
`;

const revocationSchema = z.object({
  id: idSchema,
  keepHosts: optional(z.boolean()),
});

type NamedAccess = { readonly endpointId: string; readonly access: Access };
type PermissionsView = {
  readonly graphql: Access;
  readonly allEndpoints: Access | null;
  readonly endpoints: readonly NamedAccess[] | null;
  readonly shell: boolean;
};

export const keyResolvers = {
  ApiKeyAccess: { NONE: "none", READ: "read", WRITE: "write" },

  Query: { apiKeys: withoutArguments(listOwnApiKeys) },
  User: { apiKeys: withoutArguments(listOwnApiKeys) },

  Mutation: {
    createApiKey: withInput(newKeySchema, createApiKey),
    updateApiKey: withInput(keyChangeSchema, changeApiKey),
    revokeApiKey: withArguments(revocationSchema, revokeApiKey),
  },

  ApiKey: {
    level: ({ permissions }: ApiKeyRecord): PermissionLevel => levelOf(permissions),
    permissions: ({ permissions: { graphql, endpoints, shell = false } }: ApiKeyRecord): PermissionsView =>
      typeof endpoints === "string"
        ? { graphql, allEndpoints: endpoints, endpoints: null, shell }
        : { graphql, allEndpoints: null, endpoints: listOf(endpoints), shell },
    hosts: async ({ id }: ApiKeyRecord, _args: unknown, { loaders }: GraphqlContext): Promise<Host[]> =>
      (await loaders.hosts.load()).filter(({ record }) => record.apiKeyId === id),
    isCurrent: ({ id }: ApiKeyRecord, _args: unknown, { principal }: RequestContext): boolean =>
      id === principal.apiKeyId,
  },

  Endpoint: {
    /** Opens the endpoint for writing and does not expire, so only a key that may write and does not expire sees it. */
    aiKey: async (
      { id }: EndpointRecord,
      _args: unknown,
      { env, principal }: RequestContext,
    ): Promise<string | null> => {
      const mayWrite = accessToEndpoint(principal.permissions, id) === "write";
      return (mayWrite && principal.expiresAt === null ? await endpointKey(env, id) : undefined) ?? null;
    },
  },
};

function listOf(endpoints: Readonly<Record<string, Access>>): NamedAccess[] {
  return Object.entries(endpoints).map(([endpointId, access]) => ({ endpointId, access }));
}

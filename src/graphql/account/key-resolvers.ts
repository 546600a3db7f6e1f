import * as z from "zod";
import { endpointKey } from "../../auth/derived-keys/endpoint-key.ts";
import type { AccountRecord } from "../../db/accounts.ts";
import { listApiKeys, type ApiKeyRecord } from "../../db/credentials/api-keys.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";
import {
  accessToEndpoint,
  levelOf,
  type Access,
  type PermissionLevel,
} from "../../domain/accounts/permissions.ts";
import type { RequestContext } from "../../management/context.ts";
import type { GraphqlContext } from "../context.ts";
import type { Host } from "../../management/hosts/hosts.ts";
import { optional, parseInput, stringSchema } from "../../management/input-schemas.ts";
import { keyChangeSchema, newKeySchema } from "../../management/accounts/api-key-input.ts";
import { changeApiKey, createApiKey, revokeApiKey } from "../../management/accounts/api-keys.ts";

const revocationSchema = z.object({
  id: stringSchema.min(1, "must not be empty"),
  keepHosts: optional(z.boolean("must be true or false")),
});

type NamedAccess = { readonly endpointId: string; readonly access: Access };
type PermissionsView = {
  readonly graphql: Access;
  readonly allEndpoints: Access | null;
  readonly endpoints: readonly NamedAccess[] | null;
};

export const keyResolvers = {
  ApiKeyAccess: { NONE: "none", READ: "read", WRITE: "write" },

  Query: {
    apiKeys: async (
      _parent: unknown,
      _args: unknown,
      { db, principal }: RequestContext,
    ): Promise<readonly ApiKeyRecord[]> => await listApiKeys(db, principal.accountId),
  },
  User: {
    apiKeys: async (
      account: AccountRecord,
      _args: unknown,
      { db }: RequestContext,
    ): Promise<readonly ApiKeyRecord[]> => await listApiKeys(db, account.id),
  },

  Mutation: {
    createApiKey: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<{ readonly apiKey: ApiKeyRecord; readonly token: string }> =>
      await createApiKey(context, parseInput(newKeySchema, input)),
    updateApiKey: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<ApiKeyRecord> => await changeApiKey(context, parseInput(keyChangeSchema, input)),
    revokeApiKey: async (_parent: unknown, args: unknown, context: RequestContext): Promise<null> => {
      await revokeApiKey(context, parseInput(revocationSchema, args));
      return null;
    },
  },

  ApiKey: {
    level: ({ permissions }: ApiKeyRecord): PermissionLevel => levelOf(permissions),
    permissions: ({ permissions: { graphql, endpoints } }: ApiKeyRecord): PermissionsView =>
      typeof endpoints === "string"
        ? { graphql, allEndpoints: endpoints, endpoints: null }
        : { graphql, allEndpoints: null, endpoints: listOf(endpoints) },
    hosts: async ({ id }: ApiKeyRecord, _args: unknown, { loaders }: GraphqlContext): Promise<Host[]> =>
      (await loaders.hosts.load()).filter(({ record }) => record.apiKeyId === id),
    isCurrent: ({ id }: ApiKeyRecord, _args: unknown, { principal }: RequestContext): boolean =>
      id === principal.apiKeyId,
  },

  Endpoint: {
    /** Opens the endpoint for writing and has no end, so it is shown to whoever may do that anyhow, without an end. */
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

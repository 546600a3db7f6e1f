import * as z from "zod";
import { idOfJoinToken, listJoinTokens, type JoinTokenRecord } from "../../db/credentials/join-tokens.ts";
import { ageOfAgent, type AgentAge } from "../../domain/placement/agent-support.ts";
import type { RequestContext } from "../../management/context.ts";
import { hostPatchSchema } from "../../management/hosts/host-patch.ts";
import { changeHost, removeHost, type Host } from "../../management/hosts/hosts.ts";
import {
  createJoinToken,
  joinTokenSchema,
  revokeJoinToken,
  type JoinToken,
} from "../../management/hosts/join-tokens.ts";
import { parseInput, stringSchema } from "../../management/input-schemas.ts";
import type { GraphqlContext } from "../context.ts";

const removalSchema = z.object({ id: stringSchema.min(1, "must not be empty") });

type Arguments = { readonly input?: unknown };

export const hostResolvers = {
  Mutation: {
    joinTokenCreate: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<JoinToken> => await createJoinToken(context, parseInput(joinTokenSchema, input)),
    joinTokenRevoke: async (
      _parent: unknown,
      { input }: Arguments,
      context: RequestContext,
    ): Promise<null> => {
      await revokeJoinToken(context, parseInput(removalSchema, input).id);
      return null;
    },
    hostUpdate: async (_parent: unknown, { input }: Arguments, context: RequestContext): Promise<Host> =>
      await changeHost(context, parseInput(hostPatchSchema, input)),
    hostRemove: async (_parent: unknown, { input }: Arguments, context: RequestContext): Promise<null> => {
      await removeHost(context, parseInput(removalSchema, input).id);
      return null;
    },
  },

  User: {
    hosts: async (_account: unknown, _args: unknown, { loaders }: GraphqlContext): Promise<readonly Host[]> =>
      await loaders.hosts.load(),
    joinTokens: async (
      _account: unknown,
      _args: unknown,
      { db, principal, now }: RequestContext,
    ): Promise<readonly JoinTokenRecord[]> => await listJoinTokens(db, principal.accountId, now),
  },

  OpenJoinToken: { id: (token: JoinTokenRecord): string => idOfJoinToken(token) },

  Host: {
    id: ({ record }: Host): string => record.id,
    name: ({ record }: Host): string => record.name,
    createdAt: ({ record }: Host): number => record.createdAt,
    apiKeyId: ({ record }: Host): string | null => record.apiKeyId,
    expiresAt: ({ record }: Host): number | null => record.expiresAt,
    dataCenterId: ({ seen }: Host): string | null => (seen?.agentVersion ? seen.dataCenterId : null),
    isPresent: ({ seen }: Host): boolean => seen?.isPresent ?? false,
    agentVersion: ({ seen }: Host): string | null => seen?.agentVersion || null,
    isAgentOutdated: ({ seen }: Host): boolean => agentAge(seen) !== "current",
    isAgentRefused: ({ seen }: Host): boolean => agentAge(seen) === "refused",
    gpus: ({ seen }: Host) => (seen?.gpus ?? []).map(({ model, ...gpus }) => ({ ...gpus, name: model })),
    workers: ({ seen }: Host): number => seen?.workers ?? 0,
    cordoned: ({ seen }: Host): boolean => seen?.isCordoned ?? false,
    drained: ({ seen }: Host): boolean => seen?.isDrained ?? false,
    telemetry: ({ seen }: Host) => seen?.telemetry ?? null,
    lastSeenAt: ({ seen }: Host): number | null => seen?.lastSeenAt ?? null,
  },
};

/** A host that has not spoken yet has nothing to upgrade. */
function agentAge(seen: Host["seen"]): AgentAge {
  return seen?.agentVersion ? ageOfAgent(seen.agentVersion) : "current";
}

import { z } from "zod";
import { generateCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/hash-key.ts";
import { JOIN_TOKEN_LIFE_MAX_MS, JOIN_TOKEN_LIFE_MIN_MS, JOIN_TOKEN_LIFE_MS } from "../../contract/limits.ts";
import { createJoinToken } from "../../db/join-tokens.ts";
import { authorOf, type RequestContext } from "../../management/context.ts";
import {
  keepable,
  keepableText,
  nameSchema,
  parseInput,
  plainText,
  wholeNumber,
} from "../../management/input.ts";
import { hostPatchSchema } from "../../management/hosts/host-patch.ts";
import { changeHost, removeHost, type Host } from "../../management/hosts/hosts.ts";
import type { GraphqlContext } from "../context.ts";

const SECOND_MS = 1_000;

const joinTokenSchema = z.object({
  name: keepableText(nameSchema),
  expiresInSeconds: keepable(
    wholeNumber(JOIN_TOKEN_LIFE_MIN_MS / SECOND_MS, JOIN_TOKEN_LIFE_MAX_MS / SECOND_MS),
  ),
});

const removalSchema = z.object({ id: plainText.min(1, "must not be empty") });

type Arguments = { readonly input?: unknown };
type JoinToken = { readonly token: string; readonly expiresAt: number };

export const hostResolvers = {
  Mutation: {
    joinTokenCreate: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<JoinToken> => {
      const { name, expiresInSeconds } = parseInput(joinTokenSchema, input);
      const lifeMs = expiresInSeconds === undefined ? JOIN_TOKEN_LIFE_MS : expiresInSeconds * SECOND_MS;
      const token = generateCredential("join-token");
      const expiresAt = context.now + lifeMs;
      const values = { hash: await hashKey(token), name: name ?? null, expiresAt };
      await createJoinToken(context.db, authorOf(context), values);
      return { token, expiresAt };
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
  },

  Host: {
    id: ({ record }: Host): string => record.id,
    name: ({ record }: Host): string => record.name,
    createdAt: ({ record }: Host): number => record.createdAt,
    dataCenterId: ({ seen }: Host): string | null => (seen?.agentVersion ? seen.dataCenterId : null),
    isPresent: ({ seen }: Host): boolean => seen?.isPresent ?? false,
    agentVersion: ({ seen }: Host): string | null => seen?.agentVersion || null,
    gpus: ({ seen }: Host) => (seen?.gpus ?? []).map(({ model, ...gpus }) => ({ ...gpus, name: model })),
    workers: ({ seen }: Host): number => seen?.workers ?? 0,
    cordoned: ({ seen }: Host): boolean => seen?.isCordoned ?? false,
    drained: ({ seen }: Host): boolean => seen?.isDrained ?? false,
    lastSeenAt: ({ seen }: Host): number | null => seen?.lastSeenAt ?? null,
  },
};

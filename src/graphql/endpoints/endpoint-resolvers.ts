import { z } from "zod";
import type { AccountRecord } from "../../db/accounts.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";
import type { TemplateRecord } from "../../db/templates.ts";
import type { RequestContext } from "../../management/context.ts";
import { parseInput, plainText } from "../../management/input.ts";
import { endpointPatchSchema } from "../../management/endpoints/endpoint-patch.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
} from "../../management/endpoints/endpoint-storage.ts";
import type { GraphqlContext } from "../context.ts";

const deletionSchema = z.object({ id: plainText.min(1, "must not be empty") });

type Pod = { readonly id: string; readonly desiredStatus: string };

export const endpointResolvers = {
  Mutation: {
    saveEndpoint: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<EndpointRecord> => {
      const patch = parseInput(endpointPatchSchema, input);
      return patch.id === undefined
        ? await createEndpoint(context, patch)
        : await changeEndpoint(context, patch.id, patch);
    },
    deleteEndpoint: async (_parent: unknown, args: unknown, context: RequestContext): Promise<null> => {
      await deleteEndpoint(context, parseInput(deletionSchema, args).id);
      return null;
    },
  },

  User: {
    endpoints: async (
      _account: AccountRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<readonly EndpointRecord[]> => await loaders.endpoints.load(),
    endpoint: async (
      _account: AccountRecord,
      { id }: { id?: string | null },
      { loaders }: GraphqlContext,
    ): Promise<EndpointRecord | null> => (await loaders.endpoint.load(id ?? "")) ?? null,
  },

  Endpoint: {
    userId: (endpoint: EndpointRecord): string => endpoint.accountId,
    computeType: (endpoint: EndpointRecord): string => (endpoint.gpuIds === null ? "CPU" : "GPU"),
    idleTimeout: (endpoint: EndpointRecord): number => endpoint.idleTimeoutSeconds,
    workersPFBTarget: (endpoint: EndpointRecord): number => endpoint.workersPfbTarget,
    workersStandby: (): number => 0,
    modelReferences: (): readonly string[] => [],
    networkVolumeIds: (endpoint: EndpointRecord): readonly { readonly networkVolumeId: string }[] =>
      endpoint.networkVolumeIds.map((networkVolumeId) => ({ networkVolumeId })),
    networkVolume: (endpoint: EndpointRecord): { readonly id: string } | null =>
      endpoint.networkVolumeId === null ? null : { id: endpoint.networkVolumeId },
    template: async (
      endpoint: EndpointRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<TemplateRecord | null> => (await loaders.template.load(endpoint.templateId)) ?? null,
    pods: async (
      endpoint: EndpointRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<readonly Pod[]> => {
      const workers = await loaders.workers.load(endpoint.id);
      return workers.map(({ workerId, desiredStatus }) => ({ id: workerId, desiredStatus }));
    },
  },
};

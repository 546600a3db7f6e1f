import { z } from "zod";
import type { AccountRecord } from "../../db/accounts.ts";
import { findOwnEndpoint, listEndpoints, type EndpointRecord } from "../../db/endpoints.ts";
import { findTemplate, type TemplateRecord } from "../../db/templates.ts";
import type { RequestContext } from "../../management/context.ts";
import { parseInput, plainText } from "../../management/input.ts";
import { endpointObject } from "../../management/endpoints/endpoint-announcement.ts";
import { endpointPatchSchema } from "../../management/endpoints/endpoint-patch.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
} from "../../management/endpoints/endpoint-storage.ts";

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
      account: AccountRecord,
      _args: unknown,
      context: RequestContext,
    ): Promise<readonly EndpointRecord[]> => await listEndpoints(context.db, account.id),
    endpoint: async (
      account: AccountRecord,
      { id }: { id?: string | null },
      context: RequestContext,
    ): Promise<EndpointRecord | null> => (await findOwnEndpoint(context.db, account.id, id ?? "")) ?? null,
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
      context: RequestContext,
    ): Promise<TemplateRecord | null> =>
      (await findTemplate(context.db, endpoint.accountId, endpoint.templateId)) ?? null,
    pods: async (
      endpoint: EndpointRecord,
      _args: unknown,
      context: RequestContext,
    ): Promise<readonly Pod[]> => {
      const workers = await endpointObject(context, endpoint.id).workers();
      return workers.map(({ workerId, desiredStatus }) => ({ id: workerId, desiredStatus }));
    },
  },
};

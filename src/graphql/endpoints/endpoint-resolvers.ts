import { z } from "zod";
import type { AccountRecord } from "../../db/accounts.ts";
import { findOwnEndpoint, listEndpoints, type EndpointRecord } from "../../db/endpoints.ts";
import { findNetworkVolume, findNetworkVolumes, type NetworkVolumeRecord } from "../../db/network-volumes.ts";
import { findTemplate, type TemplateRecord } from "../../db/templates.ts";
import type { RequestContext } from "../../management/context.ts";
import { parseInput, plainText } from "../../management/input.ts";
import { endpointPatchSchema, endpointTemplateSchema } from "../../management/endpoints/endpoint-patch.ts";
import { listWorkers, toPod } from "../../management/endpoints/endpoint-pods.ts";
import {
  changeEndpoint,
  changeEndpointTemplate,
  createEndpoint,
  deleteEndpoint,
} from "../../management/endpoints/endpoint-storage.ts";

const deletionSchema = z.object({ id: plainText.min(1, "must not be empty") });

type NamedVolume = { readonly networkVolumeId: string; readonly dataCenterId: string | null };

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
    updateEndpointTemplate: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<EndpointRecord> =>
      await changeEndpointTemplate(context, parseInput(endpointTemplateSchema, input)),
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
    activeBuildid: (): null => null,
    idePodId: (): null => null,
    networkVolumeIds: async (
      endpoint: EndpointRecord,
      _args: unknown,
      context: RequestContext,
    ): Promise<readonly NamedVolume[]> => {
      const { accountId, networkVolumeIds } = endpoint;
      const volumes = await findNetworkVolumes(context.db, accountId, networkVolumeIds);
      const places = new Map(volumes.map(({ id, dataCenterId }) => [id, dataCenterId]));
      return networkVolumeIds.map((networkVolumeId) => ({
        networkVolumeId,
        dataCenterId: places.get(networkVolumeId) ?? null,
      }));
    },
    networkVolume: async (
      { accountId, networkVolumeId }: EndpointRecord,
      _args: unknown,
      context: RequestContext,
    ): Promise<NetworkVolumeRecord | null> =>
      networkVolumeId === null
        ? null
        : ((await findNetworkVolume(context.db, accountId, networkVolumeId)) ?? null),
    template: async (
      endpoint: EndpointRecord,
      _args: unknown,
      context: RequestContext,
    ): Promise<TemplateRecord | null> =>
      (await findTemplate(context.db, endpoint.accountId, endpoint.templateId)) ?? null,
    pods: async (endpoint: EndpointRecord, _args: unknown, context: RequestContext): Promise<unknown[]> => {
      const workers = await listWorkers(context, [endpoint.id]);
      if (workers.length === 0) return [];
      const template = await findTemplate(context.db, endpoint.accountId, endpoint.templateId);
      return template === undefined
        ? []
        : workers.map((worker) => toPod(context, worker, endpoint, template));
    },
  },
};

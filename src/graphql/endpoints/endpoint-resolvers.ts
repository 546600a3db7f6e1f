import * as z from "zod";
import type { AccountRecord } from "../../db/accounts.ts";
import type { EndpointRecord } from "../../db/endpoints.ts";
import type { NetworkVolumeRecord } from "../../db/network-volumes.ts";
import type { TemplateRecord } from "../../db/templates.ts";
import type { RequestContext } from "../../management/context.ts";
import { hasFlashBoot } from "../../domain/placement/standby.ts";
import { parseInput, stringSchema } from "../../management/input-schemas.ts";
import { endpointFields, endpointPatchSchema } from "../../management/nouns/endpoint.ts";
import { fieldResolvers } from "../../management/nouns/field.ts";
import { toPod } from "../../management/endpoints/worker-pods.ts";
import {
  changeEndpoint,
  changeEndpointTemplate,
  createEndpoint,
  deleteEndpoint,
} from "../../management/endpoints/endpoints.ts";
import { toRollout, type Rollout } from "../../management/endpoints/rollout.ts";
import type { GraphqlContext } from "../context.ts";

const idSchema = stringSchema.min(1, "must not be empty");
const deletionSchema = z.object({ id: idSchema });
const templateChangeSchema = z.object({ endpointId: idSchema, templateId: idSchema });

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
      await changeEndpointTemplate(context, parseInput(templateChangeSchema, input)),
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
    ...fieldResolvers(endpointFields),
    userId: (endpoint: EndpointRecord): string => endpoint.accountId,
    computeType: (endpoint: EndpointRecord): string => (endpoint.gpuIds === null ? "CPU" : "GPU"),
    /** Without FLASHBOOT there are none, which need not be asked for. */
    workersStandby: async (endpoint: EndpointRecord, _: unknown, { loaders }: GraphqlContext) => {
      if (!hasFlashBoot(endpoint)) return 0;
      const workers = await loaders.workers.load(endpoint.id);
      return workers.filter(({ state }) => state === "standby").length;
    },
    modelReferences: (): readonly string[] => [],
    activeBuildid: (endpoint: EndpointRecord): string | null => endpoint.flashBuildId,
    idePodId: (): null => null,
    networkVolumeIds: async (
      endpoint: EndpointRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<readonly NamedVolume[]> =>
      await Promise.all(
        endpoint.networkVolumeIds.map(async (networkVolumeId) => ({
          networkVolumeId,
          dataCenterId: (await loaders.volume.load(networkVolumeId))?.dataCenterId ?? null,
        })),
      ),
    networkVolume: async (
      { networkVolumeId }: EndpointRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<NetworkVolumeRecord | null> =>
      networkVolumeId === null ? null : ((await loaders.volume.load(networkVolumeId)) ?? null),
    template: async (
      endpoint: EndpointRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<TemplateRecord | null> => (await loaders.template.load(endpoint.templateId)) ?? null,
    pods: async (endpoint: EndpointRecord, _args: unknown, context: GraphqlContext): Promise<unknown[]> => {
      const { loaders } = context;
      const workers = await loaders.workers.load(endpoint.id);
      if (workers.length === 0) return [];
      const template = await loaders.template.load(endpoint.templateId);
      return template === undefined
        ? []
        : workers.map((worker) => toPod(context, worker, endpoint, template));
    },
    rollout: async (
      { id, version }: EndpointRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<Rollout | null> => toRollout(await loaders.workers.load(id), version),
  },
};

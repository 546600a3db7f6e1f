import * as z from "zod";
import type { TemplateRecord } from "../../management/endpoints/templates.ts";
import type { NetworkVolumeRecord } from "../../management/endpoints/volumes.ts";
import { hasFlashBoot } from "../../domain/placement/standby.ts";
import {
  changeEndpoint,
  changeEndpointTemplate,
  checkEndpointCreation,
  createEndpoint,
  deleteEndpoint,
  type EndpointRecord,
  type ReleaseRecord,
} from "../../management/endpoints/endpoints.ts";
import { toRollout, type Rollout } from "../../management/endpoints/rollout.ts";
import { toPod } from "../../management/endpoints/worker-pods.ts";
import { rollbackEndpoint } from "../../management/endpoints/rollback.ts";
import { idSchema, onlyIdSchema, optional, wholeNumber } from "../../management/input-schemas.ts";
import { endpointFields, endpointPatchSchema } from "../../management/nouns/endpoint.ts";
import { fieldResolvers, inputSdl, typeSdl } from "../../management/nouns/field.ts";
import { inlineTemplateFields } from "../../management/nouns/template.ts";
import {
  dryRunSdl,
  withArguments,
  withDryRun,
  withInput,
  withoutArguments,
  type GraphqlContext,
} from "../context.ts";

export const endpointSdl = /* GraphQL */ `
  type Mutation {
    "An id merges into the stored endpoint; without one it creates, unless the flash environment has one of this name."
    saveEndpoint(
      input: EndpointInput
      ${dryRunSdl}
    ): Endpoint
    "Fails with ENDPOINT_HAS_WORKERS until both worker limits are 0, except for endpoints of a flash environment."
    deleteEndpoint(id: String): Void
    "Gives an endpoint another template and replaces its workers."
    updateEndpointTemplate(input: UpdateEndpointTemplateInput): Endpoint
    "Makes a new version of the settings of an earlier one and replaces the workers. Limits, scaler and timeouts stay."
    rollbackEndpoint(input: RollbackEndpointInput): Endpoint
  }

  type User {
    "Endpoints of the account, oldest first."
    endpoints: [Endpoint]!
    "Null when the endpoint does not exist."
    endpoint(id: String): Endpoint
  }

  "How workers start: FLASHBOOT and PRIORITY_FLASHBOOT ask for faster cold starts."
  enum FlashBootType {
    OFF
    FLASHBOOT
    PRIORITY_FLASHBOOT
  }

  "Which endpoints of an account get capacity first. One that has waited for ten minutes counts as one higher."
  enum SharePriority {
    LOW
    NORMAL
    HIGH
  }

  input EndpointInput {
    "Absent to create, present to change."
    id: String
    "Inline template, bound to the endpoint; not together with templateId."
    template: EndpointTemplateInput
    "The share of workers and jobs that tries the new version first, up to 50; by itself it goes on, or back. 0 ends a trial, and it goes on. No effect on a new endpoint."
    canaryPercent: Int
    ${inputSdl(endpointFields)}
    "Refused unless it is empty: the code of a worker loads its model."
    modelReferences: [String]
    "Refused unless it is empty: there are no volumes of object storage."
    volumes: [JSON]
    "Accepted and ignored."
    bindEndpoint: Boolean
    "Refused unless it is empty: there is no Hub."
    hubReleaseId: String
    "Refused unless it is empty: the code of a worker loads its model."
    modelName: String
    "Refused unless it is empty: no images are built."
    repo: JSON
    "Refused unless it is empty: there is no object storage."
    cloudStorageConfig: JSON
  }
  input EndpointTemplateInput {
    ${inputSdl(inlineTemplateFields)}
  }
  input NetworkVolumeIdsInput {
    networkVolumeId: String
  }

  input UpdateEndpointTemplateInput {
    endpointId: String
    templateId: String
  }

  input RollbackEndpointInput {
    endpointId: String
    "One of the last ten; by default the one before the present version."
    version: Int
  }

  type Endpoint {
    id: String
    "The account."
    userId: String
    createdAt: DateTime
    "Rises with each rollout."
    version: Int
    "Opens the queue API of this endpoint alone. Null for keys that may not write the endpoint or that expire, and where no ENCRYPTION_KEYS are set."
    aiKey: String
    "GPU or CPU."
    computeType: String
    template: PodTemplate
    ${typeSdl(endpointFields)}
    "Stopped workers that FLASHBOOT keeps prepared."
    workersStandby: Int
    "The volume that networkVolumeId names."
    networkVolume: NetworkVolume
    "The flash build whose files the workers get: the one that was active when this version was made."
    activeBuildid: String
    "Always null: there are no development pods."
    idePodId: String
    "Always empty."
    modelReferences: [String]
    "The endpoint's workers, including those that are starting or stopping; the oldest first."
    pods: [Pod]
    "The progress of a rollout; null while all workers are of the endpoint's version."
    rollout: Rollout
    "Its version is on trial beside an earlier one; null when all workers shall run it."
    canary: EndpointCanary
    "What made its versions, the newest first; at most 100 are stored.."
    releases: [EndpointRelease!]
  }
  type EndpointCanary {
    "The earlier version."
    from: Int!
    "The share of workers and jobs that the version on trial gets."
    percent: Int!
  }
  "A change for which workers are replaced."
  type EndpointRelease {
    version: Int!
    createdAt: DateTime!
    "The key that made it."
    apiKeyId: String!
    "Null when the key is deleted."
    apiKeyName: String
    "The flash build whose files its workers get."
    flashBuildId: String
    changes: [ReleaseChange!]!
    "Why it was made, where the changes do not say so: a rollback, or a canary that went back."
    reason: String
  }
  "A setting that a release changed. Values of variables are not shown."
  type ReleaseChange {
    field: String!
    "Null where there was none."
    old: JSON
    "Null where there is none."
    new: JSON
  }
  "Workers that are stopping do not count."
  type Rollout {
    inProgress: Boolean!
    "Oldest version that a worker still runs."
    oldestVersion: Int!
    "Ready or not."
    workersOnLatest: Int!
    workersTotal: Int!
    percentOnLatest: Int!
    "What the next new worker waits for, or why it does not start, if known."
    reason: String
  }
  type NetworkVolumeIds {
    networkVolumeId: String
    dataCenterId: String
  }
`;

const rollbackSchema = z.object({ endpointId: idSchema, version: optional(wholeNumber(1)) });
const templateChangeSchema = z.object({ endpointId: idSchema, templateId: idSchema });

type NamedVolume = { readonly networkVolumeId: string; readonly dataCenterId: string | null };

export const endpointResolvers = {
  Mutation: {
    saveEndpoint: withDryRun(endpointPatchSchema, checkEndpointCreation, async (context, patch) =>
      patch.id === undefined
        ? await createEndpoint(context, patch)
        : await changeEndpoint(context, patch.id, patch),
    ),
    deleteEndpoint: withArguments(onlyIdSchema, (context, { id }) => deleteEndpoint(context, id)),
    updateEndpointTemplate: withInput(templateChangeSchema, changeEndpointTemplate),
    rollbackEndpoint: withInput(rollbackSchema, rollbackEndpoint),
  },

  User: {
    endpoints: withoutArguments(({ loaders }) => loaders.endpoints.load()),
    endpoint: async (
      _account: unknown,
      { id }: { id?: string | null },
      { loaders }: GraphqlContext,
    ): Promise<EndpointRecord | undefined> => await loaders.endpoint.load(id ?? ""),
  },

  Endpoint: {
    ...fieldResolvers(endpointFields),
    userId: (endpoint: EndpointRecord): string => endpoint.accountId,
    computeType: (endpoint: EndpointRecord): string => (endpoint.gpuIds === null ? "CPU" : "GPU"),
    /** Without FLASHBOOT there are none, which needs no query. */
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
    releases: async (
      { id }: EndpointRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<readonly ReleaseRecord[]> => await loaders.versionsOf.load(id),
  },
};

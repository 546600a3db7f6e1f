/** Generated from operations.graphql and our schema: node scripts/console-operations.ts */

/** A document, and what goes in and comes out. */
export type Operation<Data, Variables> = string & { readonly data?: Data; readonly variables?: Variables };

export type Account = {
  readonly myself: { readonly id: string | null; readonly email: string | null } | null;
};
export const ACCOUNT: Operation<Account, {}> = "query Account { myself { id email } }";

export type Overview = {
  readonly myself: {
    readonly endpoints: readonly ({
      readonly id: string | null;
      readonly name: string | null;
      readonly type: string | null;
      readonly workersMin: number | null;
      readonly workersMax: number | null;
      readonly gpuIds: string | null;
      readonly gpuCount: number | null;
      readonly instanceIds: readonly (string | null)[] | null;
      readonly createdAt: string | null;
    } | null)[];
    readonly hosts:
      | readonly ({
          readonly id: string | null;
          readonly name: string | null;
          readonly isPresent: boolean | null;
          readonly isAgentOutdated: boolean | null;
          readonly isAgentRefused: boolean | null;
          readonly cordoned: boolean | null;
          readonly drained: boolean | null;
          readonly lastSeenAt: string | null;
        } | null)[]
      | null;
    readonly budgets:
      | readonly ({
          readonly endpointId: string | null;
          readonly limit: number | null;
          readonly period: string | null;
          readonly spent: number | null;
          readonly state: string | null;
        } | null)[]
      | null;
  } | null;
};
export const OVERVIEW: Operation<Overview, {}> =
  "query Overview { myself { endpoints { id name type workersMin workersMax gpuIds gpuCount instanceIds createdAt } hosts { id name isPresent isAgentOutdated isAgentRefused cordoned drained lastSeenAt } budgets { endpointId limit period spent state } } }";

export type Endpoint = {
  readonly myself: {
    readonly endpoint: {
      readonly id: string | null;
      readonly name: string | null;
      readonly type: string | null;
      readonly version: number | null;
      readonly createdAt: string | null;
      readonly gpuIds: string | null;
      readonly gpuCount: number | null;
      readonly instanceIds: readonly (string | null)[] | null;
      readonly locations: string | null;
      readonly workersMin: number | null;
      readonly workersMax: number | null;
      readonly idleTimeout: number | null;
      readonly scalerType: string | null;
      readonly scalerValue: number | null;
      readonly executionTimeoutMs: number | null;
      readonly flashBootType: "OFF" | "FLASHBOOT" | "PRIORITY_FLASHBOOT" | null;
      readonly template: {
        readonly id: string | null;
        readonly name: string | null;
        readonly imageName: string | null;
        readonly dockerArgs: string | null;
        readonly env:
          | readonly ({ readonly key: string | null; readonly value: string | null } | null)[]
          | null;
      } | null;
      readonly pods:
        | readonly ({
            readonly id: string;
            readonly desiredStatus:
              | "CREATED"
              | "RUNNING"
              | "RESTARTING"
              | "EXITED"
              | "PAUSED"
              | "DEAD"
              | "TERMINATED";
            readonly version: number | null;
            readonly machineId: string | null;
            readonly lastStartedAt: string | null;
            readonly latestTelemetry: { readonly state: string | null; readonly time: string | null } | null;
          } | null)[]
        | null;
      readonly rollout: {
        readonly inProgress: boolean;
        readonly oldestVersion: number;
        readonly workersOnLatest: number;
        readonly workersTotal: number;
        readonly percentOnLatest: number;
        readonly reason: string | null;
      } | null;
    } | null;
  } | null;
};
export const ENDPOINT: Operation<Endpoint, { readonly id?: string | null }> =
  "query Endpoint($id: String) { myself { endpoint(id: $id) { id name type version createdAt gpuIds gpuCount instanceIds locations workersMin workersMax idleTimeout scalerType scalerValue executionTimeoutMs flashBootType template { id name imageName dockerArgs env { key value } } pods { id desiredStatus version machineId lastStartedAt latestTelemetry { state time } } rollout { inProgress oldestVersion workersOnLatest workersTotal percentOnLatest reason } } } }";

export type Hosts = {
  readonly myself: {
    readonly hosts:
      | readonly ({
          readonly id: string | null;
          readonly name: string | null;
          readonly dataCenterId: string | null;
          readonly isPresent: boolean | null;
          readonly agentVersion: string | null;
          readonly isAgentOutdated: boolean | null;
          readonly isAgentRefused: boolean | null;
          readonly workers: number | null;
          readonly cordoned: boolean | null;
          readonly drained: boolean | null;
          readonly lastSeenAt: string | null;
          readonly gpus:
            | readonly ({
                readonly name: string | null;
                readonly isSimulated: boolean | null;
                readonly total: number | null;
                readonly free: number | null;
              } | null)[]
            | null;
          readonly price: { readonly perHour: number | null } | null;
          readonly telemetry: {
            readonly at: string | null;
            readonly cpuPercent: number | null;
            readonly memoryUsedMb: number | null;
            readonly memoryTotalMb: number | null;
            readonly diskUsedMb: number | null;
            readonly diskTotalMb: number | null;
            readonly gpus:
              | readonly ({
                  readonly index: number | null;
                  readonly utilizationPercent: number | null;
                  readonly memoryUsedMb: number | null;
                  readonly memoryTotalMb: number | null;
                  readonly temperatureC: number | null;
                  readonly powerW: number | null;
                } | null)[]
              | null;
          } | null;
        } | null)[]
      | null;
  } | null;
};
export const HOSTS: Operation<Hosts, {}> =
  "query Hosts { myself { hosts { id name dataCenterId isPresent agentVersion isAgentOutdated isAgentRefused workers cordoned drained lastSeenAt gpus { name isSimulated total free } price { perHour } telemetry { at cpuPercent memoryUsedMb memoryTotalMb diskUsedMb diskTotalMb gpus { index utilizationPercent memoryUsedMb memoryTotalMb temperatureC powerW } } } } }";

export type UpdateHost = {
  readonly hostUpdate: {
    readonly id: string | null;
    readonly cordoned: boolean | null;
    readonly drained: boolean | null;
  } | null;
};
export const UPDATE_HOST: Operation<
  UpdateHost,
  { readonly id?: string | null; readonly cordoned?: boolean | null; readonly drained?: boolean | null }
> =
  "mutation UpdateHost($id: String, $cordoned: Boolean, $drained: Boolean) { hostUpdate(input: { id: $id, cordoned: $cordoned, drained: $drained }) { id cordoned drained } }";

export type AddHost = {
  readonly joinTokenCreate: {
    readonly installCommand: string | null;
    readonly expiresAt: string | null;
  } | null;
};
export const ADD_HOST: Operation<AddHost, {}> =
  "mutation AddHost { joinTokenCreate { installCommand expiresAt } }";

export type Usage = {
  readonly myself: {
    readonly usage:
      | readonly ({
          readonly from: string | null;
          readonly endpointId: string | null;
          readonly endpointName: string | null;
          readonly isPod: boolean | null;
          readonly requests: number | null;
          readonly completed: number | null;
          readonly failed: number | null;
          readonly workerSeconds: number | null;
          readonly busySeconds: number | null;
          readonly cost: number | null;
        } | null)[]
      | null;
  } | null;
};
export const USAGE: Operation<Usage, { readonly from?: string | null; readonly bucket?: string | null }> =
  "query Usage($from: String, $bucket: String) { myself { usage(input: { from: $from, bucket: $bucket }) { from endpointId endpointName isPod requests completed failed workerSeconds busySeconds cost } } }";

export type Audit = {
  readonly myself: {
    readonly auditLog:
      | readonly {
          readonly id: string;
          readonly at: string;
          readonly apiKeyName: string | null;
          readonly operation: string;
          readonly subjectKind: string;
          readonly subjectId: string;
          readonly subjectName: string | null;
          readonly fields: readonly string[];
        }[]
      | null;
  } | null;
};
export const AUDIT: Operation<Audit, { readonly before?: string | null }> =
  "query Audit($before: ID) { myself { auditLog(input: { limit: 100, before: $before }) { id at apiKeyName operation subjectKind subjectId subjectName fields } } }";

export type Access = {
  readonly signIns:
    | readonly {
        readonly id: string;
        readonly apiKeyId: string;
        readonly isLink: boolean;
        readonly client: string;
        readonly createdAt: string;
        readonly expiresAt: string;
        readonly isCurrent: boolean;
      }[]
    | null;
  readonly apiKeys:
    | readonly ({
        readonly id: string | null;
        readonly name: string | null;
        readonly hint: string | null;
        readonly level: "ALL" | "READ_ONLY" | "RESTRICTED" | null;
        readonly createdAt: string | null;
        readonly lastUsedAt: string | null;
        readonly expiresAt: string | null;
        readonly revokedAt: string | null;
        readonly isCurrent: boolean | null;
      } | null)[]
    | null;
};
export const ACCESS: Operation<Access, {}> =
  "query Access { signIns { id apiKeyId isLink client createdAt expiresAt isCurrent } apiKeys { id name hint level createdAt lastUsedAt expiresAt revokedAt isCurrent } }";

export type EndSignIn = { readonly endSignIn: null };
export const END_SIGN_IN: Operation<EndSignIn, { readonly id?: string | null }> =
  "mutation EndSignIn($id: ID) { endSignIn(id: $id) }";

export type CreateEndpoint = { readonly saveEndpoint: { readonly id: string | null } | null };
export const CREATE_ENDPOINT: Operation<
  CreateEndpoint,
  {
    readonly name?: string | null;
    readonly imageName?: string | null;
    readonly dockerArgs?: string | null;
    readonly gpuIds?: string | null;
    readonly workersMax?: number | null;
  }
> =
  "mutation CreateEndpoint($name: String, $imageName: String, $dockerArgs: String, $gpuIds: String, $workersMax: Int) { saveEndpoint( input: { name: $name gpuIds: $gpuIds workersMax: $workersMax template: { imageName: $imageName, dockerArgs: $dockerArgs, containerDiskInGb: 10 } } ) { id } }";

export type GpuPools = {
  readonly serverlessGpuPools:
    | readonly ({
        readonly id: string | null;
        readonly gpuTypeIds: readonly (string | null)[] | null;
      } | null)[]
    | null;
};
export const GPU_POOLS: Operation<GpuPools, {}> = "query GpuPools { serverlessGpuPools { id gpuTypeIds } }";

export type ChangeEndpoint = {
  readonly saveEndpoint: { readonly id: string | null; readonly version: number | null } | null;
};
export const CHANGE_ENDPOINT: Operation<
  ChangeEndpoint,
  {
    readonly id?: string | null;
    readonly name?: string | null;
    readonly imageName?: string | null;
    readonly dockerArgs?: string | null;
    readonly env?:
      | readonly ({ readonly key?: string | null; readonly value?: string | null } | null)[]
      | null;
    readonly workersMin?: number | null;
    readonly workersMax?: number | null;
    readonly idleTimeout?: number | null;
    readonly scalerType?: string | null;
    readonly scalerValue?: number | null;
    readonly executionTimeoutMs?: number | null;
  }
> =
  "mutation ChangeEndpoint($id: String, $name: String, $imageName: String, $dockerArgs: String, $env: [EnvironmentVariableInput], $workersMin: Int, $workersMax: Int, $idleTimeout: Int, $scalerType: String, $scalerValue: Int, $executionTimeoutMs: Int) { saveEndpoint( input: { id: $id name: $name workersMin: $workersMin workersMax: $workersMax idleTimeout: $idleTimeout scalerType: $scalerType scalerValue: $scalerValue executionTimeoutMs: $executionTimeoutMs template: { imageName: $imageName, dockerArgs: $dockerArgs, env: $env } } ) { id version } }";

export type DeleteEndpoint = {
  readonly saveEndpoint: { readonly id: string | null } | null;
  readonly deleteEndpoint: null;
};
export const DELETE_ENDPOINT: Operation<DeleteEndpoint, { readonly id?: string | null }> =
  "mutation DeleteEndpoint($id: String) { saveEndpoint(input: { id: $id, workersMin: 0, workersMax: 0 }) { id } deleteEndpoint(id: $id) }";

export type Versions = {
  readonly myself: {
    readonly endpoint: {
      readonly id: string | null;
      readonly releases:
        | readonly {
            readonly version: number;
            readonly createdAt: string;
            readonly apiKeyName: string | null;
            readonly flashBuildId: string | null;
            readonly reason: string | null;
            readonly changes: readonly {
              readonly field: string;
              readonly old: unknown;
              readonly new: unknown;
            }[];
          }[]
        | null;
    } | null;
  } | null;
};
export const VERSIONS: Operation<Versions, { readonly id?: string | null }> =
  "query Versions($id: String) { myself { endpoint(id: $id) { id releases { version createdAt apiKeyName flashBuildId reason changes { field old new } } } } }";

export type Rollback = { readonly rollbackEndpoint: { readonly id: string | null } | null };
export const ROLLBACK: Operation<
  Rollback,
  { readonly endpointId?: string | null; readonly version?: number | null }
> =
  "mutation Rollback($endpointId: String!, $version: Int) { rollbackEndpoint(input: { endpointId: $endpointId, version: $version }) { id } }";

export type Secrets = {
  readonly myself: {
    readonly secrets: readonly {
      readonly id: string;
      readonly name: string;
      readonly description: string | null;
      readonly createdAt: string | null;
      readonly updatedAt: string | null;
    }[];
  } | null;
};
export const SECRETS: Operation<Secrets, {}> =
  "query Secrets { myself { secrets { id name description createdAt updatedAt } } }";

export type CreateSecret = { readonly secretCreate: { readonly id: string } | null };
export const CREATE_SECRET: Operation<
  CreateSecret,
  { readonly name?: string | null; readonly value?: string | null; readonly description?: string | null }
> =
  "mutation CreateSecret($name: String, $value: String, $description: String) { secretCreate(input: { name: $name, value: $value, description: $description }) { id } }";

export type DeleteSecret = { readonly secretDelete: null };
export const DELETE_SECRET: Operation<DeleteSecret, { readonly id?: string | null }> =
  "mutation DeleteSecret($id: ID) { secretDelete(id: $id) }";

export type CreateKey = { readonly createApiKey: { readonly token: string | null } | null };
export const CREATE_KEY: Operation<
  CreateKey,
  { readonly name?: string | null; readonly level?: "ALL" | "READ_ONLY" | "RESTRICTED" | null }
> =
  "mutation CreateKey($name: String, $level: ApiKeyLevel) { createApiKey(input: { name: $name, level: $level }) { token } }";

export type RevokeKey = { readonly revokeApiKey: null };
export const REVOKE_KEY: Operation<RevokeKey, { readonly id?: string | null }> =
  "mutation RevokeKey($id: ID) { revokeApiKey(id: $id) }";

export type Pods = {
  readonly myself: {
    readonly pods:
      | readonly ({
          readonly id: string;
          readonly name: string;
          readonly desiredStatus:
            | "CREATED"
            | "RUNNING"
            | "RESTARTING"
            | "EXITED"
            | "PAUSED"
            | "DEAD"
            | "TERMINATED";
          readonly imageName: string | null;
          readonly gpuCount: number | null;
          readonly costPerHr: number | null;
          readonly lastStartedAt: string | null;
          readonly machine: { readonly gpuDisplayName: string | null } | null;
        } | null)[]
      | null;
  } | null;
};
export const PODS: Operation<Pods, {}> =
  "query Pods { myself { pods { id name desiredStatus imageName gpuCount costPerHr lastStartedAt machine { gpuDisplayName } } } }";

export type StopPod = { readonly podStop: { readonly id: string } | null };
export const STOP_POD: Operation<StopPod, { readonly id?: string | null }> =
  "mutation StopPod($id: String) { podStop(input: { podId: $id }) { id } }";

export type StartPod = { readonly podResume: { readonly id: string } | null };
export const START_POD: Operation<StartPod, { readonly id?: string | null }> =
  "mutation StartPod($id: String) { podResume(input: { podId: $id }) { id } }";

export type Apps = {
  readonly myself: {
    readonly flashApps:
      | readonly ({
          readonly id: string | null;
          readonly name: string | null;
          readonly flashEnvironments:
            | readonly ({
                readonly id: string | null;
                readonly name: string | null;
                readonly state: string | null;
                readonly activeBuildId: string | null;
                readonly createdAt: string | null;
                readonly endpoints:
                  | readonly ({ readonly id: string | null; readonly name: string | null } | null)[]
                  | null;
              } | null)[]
            | null;
        } | null)[]
      | null;
  } | null;
};
export const APPS: Operation<Apps, {}> =
  "query Apps { myself { flashApps { id name flashEnvironments { id name state activeBuildId createdAt endpoints { id name } } } } }";

export type Templates = {
  readonly myself: {
    readonly podTemplates:
      | readonly ({
          readonly id: string | null;
          readonly name: string | null;
          readonly imageName: string | null;
          readonly dockerArgs: string | null;
          readonly containerDiskInGb: number | null;
          readonly volumeInGb: number | null;
          readonly isServerless: boolean | null;
          readonly containerRegistryAuthId: string | null;
          readonly env:
            | readonly ({ readonly key: string | null; readonly value: string | null } | null)[]
            | null;
        } | null)[]
      | null;
    readonly containerRegistryCreds:
      | readonly ({ readonly id: string | null; readonly name: string | null } | null)[]
      | null;
  } | null;
};
export const TEMPLATES: Operation<Templates, {}> =
  "query Templates { myself { podTemplates { id name imageName dockerArgs containerDiskInGb volumeInGb isServerless containerRegistryAuthId env { key value } } containerRegistryCreds { id name } } }";

export type SaveTemplate = { readonly saveTemplate: { readonly id: string | null } | null };
export const SAVE_TEMPLATE: Operation<
  SaveTemplate,
  {
    readonly id?: string | null;
    readonly name?: string | null;
    readonly imageName?: string | null;
    readonly dockerArgs?: string | null;
    readonly containerDiskInGb?: number | null;
    readonly volumeInGb?: number | null;
    readonly isServerless?: boolean | null;
    readonly containerRegistryAuthId?: string | null;
    readonly env?:
      | readonly ({ readonly key?: string | null; readonly value?: string | null } | null)[]
      | null;
  }
> =
  "mutation SaveTemplate($id: String, $name: String, $imageName: String, $dockerArgs: String, $containerDiskInGb: Int, $volumeInGb: Int, $isServerless: Boolean, $containerRegistryAuthId: String, $env: [EnvironmentVariableInput]) { saveTemplate( input: { id: $id name: $name imageName: $imageName dockerArgs: $dockerArgs containerDiskInGb: $containerDiskInGb volumeInGb: $volumeInGb isServerless: $isServerless containerRegistryAuthId: $containerRegistryAuthId env: $env } ) { id } }";

export type DeleteTemplate = { readonly deleteTemplate: null };
export const DELETE_TEMPLATE: Operation<DeleteTemplate, { readonly templateName?: string | null }> =
  "mutation DeleteTemplate($templateName: String) { deleteTemplate(templateName: $templateName) }";

export type Volumes = {
  readonly dataCenters:
    | readonly ({ readonly id: string | null; readonly location: string | null } | null)[]
    | null;
  readonly myself: {
    readonly networkVolumes:
      | readonly ({
          readonly id: string | null;
          readonly name: string | null;
          readonly size: number | null;
          readonly dataCenterId: string | null;
        } | null)[]
      | null;
  } | null;
};
export const VOLUMES: Operation<Volumes, {}> =
  "query Volumes { dataCenters { id location } myself { networkVolumes { id name size dataCenterId } } }";

export type CreateVolume = { readonly createNetworkVolume: { readonly id: string | null } | null };
export const CREATE_VOLUME: Operation<
  CreateVolume,
  { readonly name?: string | null; readonly size?: number | null; readonly dataCenterId?: string | null }
> =
  "mutation CreateVolume($name: String, $size: Int, $dataCenterId: String) { createNetworkVolume( input: { name: $name, size: $size, dataCenterId: $dataCenterId } ) { id } }";

export type GrowVolume = { readonly updateNetworkVolume: { readonly id: string | null } | null };
export const GROW_VOLUME: Operation<
  GrowVolume,
  { readonly id?: string | null; readonly size?: number | null }
> =
  "mutation GrowVolume($id: String, $size: Int) { updateNetworkVolume(input: { id: $id, size: $size }) { id } }";

export type DeleteVolume = { readonly deleteNetworkVolume: null };
export const DELETE_VOLUME: Operation<DeleteVolume, { readonly id?: string | null }> =
  "mutation DeleteVolume($id: String) { deleteNetworkVolume(input: { id: $id }) }";

export type Registries = {
  readonly myself: {
    readonly containerRegistryCreds:
      | readonly ({ readonly id: string | null; readonly name: string | null } | null)[]
      | null;
  } | null;
};
export const REGISTRIES: Operation<Registries, {}> =
  "query Registries { myself { containerRegistryCreds { id name } } }";

export type SaveRegistry = { readonly saveRegistryAuth: { readonly id: string | null } | null };
export const SAVE_REGISTRY: Operation<
  SaveRegistry,
  { readonly name?: string | null; readonly username?: string | null; readonly password?: string | null }
> =
  "mutation SaveRegistry($name: String, $username: String, $password: String) { saveRegistryAuth( input: { name: $name, username: $username, password: $password } ) { id } }";

export type DeleteRegistry = { readonly deleteRegistryAuth: null };
export const DELETE_REGISTRY: Operation<DeleteRegistry, { readonly id?: string | null }> =
  "mutation DeleteRegistry($id: String) { deleteRegistryAuth(registryAuthId: $id) }";

export type WebhookSecret = {
  readonly myself: {
    readonly webhookSecret: {
      readonly secret: string | null;
      readonly createdAt: string | null;
      readonly previousValidUntil: string | null;
    } | null;
  } | null;
};
export const WEBHOOK_SECRET: Operation<WebhookSecret, {}> =
  "query WebhookSecret { myself { webhookSecret { secret createdAt previousValidUntil } } }";

export type RotateWebhookSecret = {
  readonly webhookSecretRotate: { readonly createdAt: string | null } | null;
};
export const ROTATE_WEBHOOK_SECRET: Operation<RotateWebhookSecret, {}> =
  "mutation RotateWebhookSecret { webhookSecretRotate { createdAt } }";

export type AccountSettings = {
  readonly myself: {
    readonly id: string | null;
    readonly email: string | null;
    readonly pubKey: string | null;
    readonly budgets:
      | readonly ({
          readonly endpointId: string | null;
          readonly limit: number | null;
          readonly period: string | null;
          readonly warnPercent: number | null;
          readonly spent: number | null;
          readonly state: string | null;
          readonly until: string | null;
        } | null)[]
      | null;
  } | null;
};
export const ACCOUNT_SETTINGS: Operation<AccountSettings, {}> =
  "query AccountSettings { myself { id email pubKey budgets { endpointId limit period warnPercent spent state until } } }";

export type SavePublicKeys = { readonly updateUserSettings: { readonly id: string | null } | null };
export const SAVE_PUBLIC_KEYS: Operation<SavePublicKeys, { readonly pubKey?: string | null }> =
  "mutation SavePublicKeys($pubKey: String) { updateUserSettings(input: { pubKey: $pubKey }) { id } }";

export type SaveBudget = { readonly budgetSave: { readonly limit: number | null } | null };
export const SAVE_BUDGET: Operation<
  SaveBudget,
  {
    readonly endpointId?: string | null;
    readonly limit?: number | null;
    readonly period?: string | null;
    readonly warnPercent?: number | null;
  }
> =
  "mutation SaveBudget($endpointId: String, $limit: Float, $period: String, $warnPercent: Int) { budgetSave( input: { endpointId: $endpointId limit: $limit period: $period warnPercent: $warnPercent } ) { limit } }";

export type RemoveBudget = { readonly budgetRemove: null };
export const REMOVE_BUDGET: Operation<RemoveBudget, { readonly endpointId?: string | null }> =
  "mutation RemoveBudget($endpointId: String) { budgetRemove(input: { endpointId: $endpointId }) }";

export type App = {
  readonly flashApp: {
    readonly id: string | null;
    readonly name: string | null;
    readonly flashEnvironments:
      | readonly ({
          readonly id: string | null;
          readonly name: string | null;
          readonly state: string | null;
          readonly activeBuildId: string | null;
          readonly createdAt: string | null;
          readonly leaseExpiresAt: string | null;
          readonly endpoints:
            | readonly ({
                readonly id: string | null;
                readonly name: string | null;
                readonly version: number | null;
              } | null)[]
            | null;
        } | null)[]
      | null;
    readonly flashBuilds:
      | readonly ({
          readonly id: string | null;
          readonly sha256: string | null;
          readonly sizeBytes: number | null;
          readonly createdAt: string | null;
        } | null)[]
      | null;
  } | null;
};
export const APP: Operation<App, { readonly id?: string | null }> =
  "query App($id: String) { flashApp(flashAppId: $id) { id name flashEnvironments { id name state activeBuildId createdAt leaseExpiresAt endpoints { id name version } } flashBuilds { id sha256 sizeBytes createdAt } } }";

export type DeleteEnvironment = { readonly deleteFlashEnvironment: null };
export const DELETE_ENVIRONMENT: Operation<DeleteEnvironment, { readonly id?: string | null }> =
  "mutation DeleteEnvironment($id: String) { deleteFlashEnvironment(flashEnvironmentId: $id) }";

export type DeleteApp = { readonly deleteFlashApp: null };
export const DELETE_APP: Operation<DeleteApp, { readonly id?: string | null }> =
  "mutation DeleteApp($id: String) { deleteFlashApp(flashAppId: $id) }";

/**
 * The tables of D1. Every row belongs to an account; moments are epoch milliseconds.
 * After a change: `npx drizzle-kit generate --name <what>`; an applied migration is never edited.
 */
import { sql } from "drizzle-orm";
import {
  check,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { AUTH_REQUEST_STATUSES, ENVIRONMENT_STATES } from "../contract/flash/flash-names.ts";
import { CLUSTER_TYPES } from "../contract/pod.ts";
import { SHARE_PRIORITIES, SHARE_WEIGHT_DEFAULT, type Canary } from "../contract/endpoint.ts";
import { QUEUE_DEPTH_MAX } from "../contract/limits.ts";
import { FULL_PERMISSIONS, type Permissions } from "../domain/accounts/permissions.ts";
import type { GpuTime, VersionTime } from "../domain/metrics/worker-usage.ts";
import type { HostStock } from "../domain/placement/stock.ts";

export type EnvironmentVariable = { readonly key: string; readonly value: string };
export type NamedPort = { readonly port: string; readonly name: string };
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The entries of a comma list, as some columns store one. */
export function splitList(commaList: string | null): string[] {
  return (commaList ?? "").split(",").filter((entry) => entry !== "");
}

const environment = (name: string) => text(name, { mode: "json" }).$type<readonly EnvironmentVariable[]>();
const strings = (name: string) => text(name, { mode: "json" }).$type<readonly string[]>();
const flag = (name: string) => integer(name, { mode: "boolean" });

export const account = sqliteTable("account", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  email: text("email"),
  /** Public keys for SSH, joined by blank lines, as the client sent them. */
  pubKey: text("pub_key"),
  createdAt: integer("created_at").notNull(),
});

const accountId = () =>
  text("account_id")
    .notNull()
    .references(() => account.id);

export const apiKey = sqliteTable(
  "api_key",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    /** SHA-256 of the key, in hex; the key itself is never stored. */
    hash: text("hash").notNull(),
    name: text("name").notNull(),
    /** Its first characters, by which a user recognizes it. */
    hint: text("hint").notNull().default(""),
    permissions: text("permissions", { mode: "json" })
      .$type<Permissions>()
      .notNull()
      .default(FULL_PERMISSIONS),
    /** Came from the environment, and is good only while it stands there. */
    isRoot: flag("is_root").notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at"),
    revokedAt: integer("revoked_at"),
    lastUsedAt: integer("last_used_at"),
  },
  (table) => [
    uniqueIndex("api_key_hash").on(table.hash),
    index("api_key_account").on(table.accountId, table.createdAt),
  ],
);

/** Browsers that are signed in to the console, and links that sign one in. A row ends with its key. */
export const signIn = sqliteTable(
  "sign_in",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    /** The key whose rights it has. */
    apiKeyId: text("api_key_id").notNull(),
    /** SHA-256 of the cookie's token, or of a link's code, in hex. */
    hash: text("hash").notNull(),
    /** A link that nobody has followed yet. */
    isLink: flag("is_link").notNull(),
    /** The browser as it names itself. */
    client: text("client").notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
  },
  (table) => [
    uniqueIndex("sign_in_hash").on(table.hash),
    index("sign_in_account").on(table.accountId, table.createdAt),
    index("sign_in_expiry").on(table.expiresAt),
  ],
);

export const template = sqliteTable(
  "template",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    name: text("name").notNull(),
    imageName: text("image_name").notNull(),
    containerDiskInGb: integer("container_disk_in_gb").notNull(),
    volumeInGb: integer("volume_in_gb").notNull(),
    volumeMountPath: text("volume_mount_path").notNull(),
    dockerArgs: text("docker_args").notNull(),
    env: environment("env").notNull(),
    ports: text("ports").notNull(),
    portsConfig: text("ports_config", { mode: "json" }).$type<readonly NamedPort[]>().notNull(),
    readme: text("readme").notNull(),
    isServerless: flag("is_serverless").notNull(),
    isPublic: flag("is_public").notNull(),
    containerRegistryAuthId: text("container_registry_auth_id"),
    startSsh: flag("start_ssh").notNull(),
    startJupyter: flag("start_jupyter").notNull(),
    startScript: text("start_script").notNull(),
    advancedStart: flag("advanced_start").notNull(),
    config: text("config", { mode: "json" }).$type<Json>(),
    category: text("category"),
    /** Comma list; null for any. */
    allowedCudaVersions: text("allowed_cuda_versions"),
    /** Each `org/name` or `org/name@revision`. */
    models: strings("models").notNull().default([]),
    /** Name of the secret that opens private ones. */
    modelTokenSecret: text("model_token_secret"),
    /** Came inline with an endpoint; goes with the last endpoint that uses it. */
    isBound: flag("is_bound").notNull(),
    /** Counts the writes, so that a change based on an older reading is noticed. */
    rowVersion: integer("revision").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    uniqueIndex("template_account_name").on(table.accountId, table.name),
    check("template_serverless_volume", sql`${table.isServerless} = 0 OR ${table.volumeInGb} = 0`),
  ],
);

export const endpoint = sqliteTable(
  "endpoint",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    name: text("name").notNull(),
    type: text("type", { enum: ["QB", "LB"] }).notNull(),
    templateId: text("template_id")
      .notNull()
      .references(() => template.id),
    /** As written by the client; null for a CPU endpoint. */
    gpuIds: text("gpu_ids"),
    gpuCount: integer("gpu_count").notNull(),
    /** GPU memory that each worker declares; 0 for none, which leaves it its GPUs to itself. */
    gpuMemoryGb: integer("gpu_memory_gb").notNull().default(0),
    /** CPU sizes; empty for a GPU endpoint. */
    instanceIds: strings("instance_ids").notNull(),
    idleTimeoutSeconds: integer("idle_timeout_seconds").notNull(),
    locations: text("locations"),
    networkVolumeId: text("network_volume_id"),
    networkVolumeIds: strings("network_volume_ids").notNull(),
    flashEnvironmentId: text("flash_environment_id"),
    /** The build whose files the workers of this version get: that which was active when the version was made. */
    flashBuildId: text("flash_build_id"),
    scalerType: text("scaler_type", { enum: ["QUEUE_DELAY", "REQUEST_COUNT"] }).notNull(),
    scalerValue: integer("scaler_value").notNull(),
    workersMin: integer("workers_min").notNull(),
    workersMax: integer("workers_max").notNull(),
    workersPfbTarget: integer("workers_pfb_target").notNull(),
    /** Variables of the endpoint alone; they win over the template's. */
    env: environment("env").notNull(),
    allowedCudaVersions: text("allowed_cuda_versions"),
    minCudaVersion: text("min_cuda_version"),
    executionTimeoutMs: integer("execution_timeout_ms").notNull(),
    queueDepthMax: integer("queue_depth_max").notNull().default(QUEUE_DEPTH_MAX),
    /** How much capacity it is entitled to beside others of its account, and what comes before that. */
    shareWeight: integer("share_weight").notNull().default(SHARE_WEIGHT_DEFAULT),
    sharePriority: text("share_priority", { enum: SHARE_PRIORITIES }).notNull().default("NORMAL"),
    flashBootType: text("flash_boot_type", { enum: ["OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT"] }),
    compliance: strings("compliance").notNull(),
    /** While a share of the workers tries its version beside an earlier one. */
    canary: text("canary", { mode: "json" }).$type<Canary>(),
    /** Grows when running workers must be replaced. */
    version: integer("version").notNull(),
    /** Counts the writes, so that a change based on an older reading is noticed. */
    rowVersion: integer("revision").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    index("endpoint_account").on(table.accountId, table.createdAt),
    index("endpoint_template").on(table.templateId),
    /** Two deploys at once never make two endpoints of one declaration. */
    uniqueIndex("endpoint_flash_name")
      .on(table.flashEnvironmentId, table.name)
      .where(sql`flash_environment_id IS NOT NULL`),
    check("endpoint_type", sql`${table.type} IN ('QB', 'LB')`),
    check("endpoint_workers", sql`0 <= ${table.workersMin} AND ${table.workersMin} <= ${table.workersMax}`),
    check("endpoint_compute", sql`(${table.gpuIds} IS NULL) = (${table.instanceIds} <> '[]')`),
  ],
);

/** A setting that a release changed; null where there was or is none. */
export type ReleaseChange = { readonly field: string; readonly old: Json; readonly new: Json };

/** What made a version of an endpoint; goes with the endpoint. */
export const endpointRelease = sqliteTable(
  "endpoint_release",
  {
    endpointId: text("endpoint_id")
      .notNull()
      .references(() => endpoint.id, { onDelete: "cascade" }),
    version: integer("version").notNull(),
    accountId: accountId(),
    apiKeyId: text("api_key_id").notNull(),
    changes: text("changes", { mode: "json" }).$type<readonly ReleaseChange[]>().notNull(),
    createdAt: integer("created_at").notNull(),
    /** The build whose files its workers get. */
    flashBuildId: text("flash_build_id"),
    /** What its workers are made of (version-settings.ts); null for older versions and for very long settings. */
    settings: text("settings"),
    /** Why it was made, where that does not follow from the changes. */
    reason: text("reason"),
  },
  (table) => [
    primaryKey({ columns: [table.endpointId, table.version] }),
    index("endpoint_version_build").on(table.flashBuildId),
  ],
);

/** What a pod was asked to be; whether it runs, and where, is known to the Fleet object alone. */
export const pod = sqliteTable(
  "pod",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    name: text("name").notNull(),
    /** The template whose settings it was made of; later changes of the template do not reach it. */
    templateId: text("template_id"),
    imageName: text("image_name").notNull(),
    dockerArgs: text("docker_args").notNull(),
    env: environment("env").notNull(),
    /** Comma list of <port>/<protocol>. */
    ports: text("ports").notNull(),
    containerDiskInGb: integer("container_disk_in_gb").notNull(),
    volumeInGb: integer("volume_in_gb").notNull(),
    volumeMountPath: text("volume_mount_path").notNull(),
    networkVolumeId: text("network_volume_id"),
    containerRegistryAuthId: text("container_registry_auth_id"),
    startSsh: flag("start_ssh").notNull(),
    startJupyter: flag("start_jupyter").notNull(),
    /** Cards in order of preference; empty for a CPU pod. */
    gpuTypeIds: strings("gpu_type_ids").notNull(),
    gpuCount: integer("gpu_count").notNull(),
    /** CPU sizes in order of preference; empty for a GPU pod. */
    instanceIds: strings("instance_ids").notNull(),
    minVcpuCount: integer("min_vcpu_count").notNull(),
    minMemoryInGb: integer("min_memory_in_gb").notNull(),
    /** Data centers and countries; empty for any. */
    locations: strings("locations").notNull(),
    /** Comma list; null for any. */
    allowedCudaVersions: text("allowed_cuda_versions"),
    minCudaVersion: text("min_cuda_version"),
    needsPublicAddress: flag("needs_public_address").notNull(),
    isInterruptible: flag("is_interruptible").notNull(),
    /** Dollars per hour and GPU; 0 for none. */
    bidPerGpu: real("bid_per_gpu").notNull(),
    stopAfter: integer("stop_after"),
    terminateAfter: integer("terminate_after"),
    /** Its owner must unlock it before it can be stopped or reset. */
    locked: flag("locked").notNull(),
    /** The cluster that it is a part of, and its number in it, from 0; null for none. */
    clusterId: text("cluster_id"),
    clusterRank: integer("cluster_rank"),
    /** Grows when its container must be replaced. */
    version: integer("version").notNull(),
    /** Counts the writes, so that a change based on an older reading is noticed. */
    rowVersion: integer("revision").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    index("pod_account").on(table.accountId, table.createdAt),
    check("pod_compute", sql`(${table.gpuTypeIds} = '[]') = (${table.instanceIds} <> '[]')`),
  ],
);

/** Pods that are made and terminated together, all alike. */
export const cluster = sqliteTable(
  "cluster",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    name: text("name").notNull(),
    type: text("type", { enum: CLUSTER_TYPES }).notNull(),
    gpuTypeId: text("gpu_type_id").notNull(),
    gpuCountPerPod: integer("gpu_count_per_pod").notNull(),
    podCount: integer("pod_count").notNull(),
    /** The template whose settings its pods were made of. */
    templateId: text("template_id"),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [index("cluster_account").on(table.accountId, table.createdAt)],
);

export const flashApp = sqliteTable(
  "flash_app",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    name: text("name").notNull(),
    /** Created for sessions: deleted with the last of them, unless something permanent was created in it. */
    isForSessions: flag("is_for_sessions").notNull().default(false),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [uniqueIndex("flash_app_account_name").on(table.accountId, table.name)],
);

const flashAppId = () =>
  text("app_id")
    .notNull()
    .references(() => flashApp.id);

/** Packed files of an app with their manifest. The same files and manifest are one build. */
export const flashBuild = sqliteTable(
  "flash_build",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    appId: flashAppId(),
    /** Where the bucket has the artifact; two builds of one app with the same bytes share it. */
    objectKey: text("object_key").notNull(),
    sha256: text("sha256").notNull(),
    sizeBytes: integer("size_bytes").notNull(),
    manifest: text("manifest", { mode: "json" }).$type<Json>().notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [
    index("flash_build_app").on(table.appId, table.createdAt),
    index("flash_build_account_sha256").on(table.accountId, table.sha256),
  ],
);

export const flashEnvironment = sqliteTable(
  "flash_environment",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    appId: flashAppId(),
    name: text("name").notNull(),
    state: text("state", { enum: ENVIRONMENT_STATES }).notNull(),
    activeBuildId: text("active_build_id").references(() => flashBuild.id),
    /** When a session ends unless it is renewed; null for a permanent environment. Without an index: a renewal is one row. */
    leaseExpiresAt: integer("lease_expires_at"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [uniqueIndex("flash_environment_app_name").on(table.appId, table.name)],
);

/** An artifact that is being uploaded, or was uploaded and is not a build yet. */
export const flashUpload = sqliteTable(
  "flash_upload",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    appId: flashAppId(),
    objectKey: text("object_key").notNull(),
    /** SHA-256 of the token in the address that takes the artifact, in hex. */
    tokenHash: text("token_hash").notNull(),
    sizeBytes: integer("size_bytes").notNull(),
    /** As announced, or as computed while it arrived; null before. */
    sha256: text("sha256"),
    /** R2's name of the upload in parts; null before the first part, and for an artifact that was sent whole. */
    multipartId: text("multipart_id"),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
  },
  (table) => [
    uniqueIndex("flash_upload_object_key").on(table.objectKey),
    uniqueIndex("flash_upload_token_hash").on(table.tokenHash),
    index("flash_upload_app").on(table.appId, table.sha256),
    index("flash_upload_expiry").on(table.expiresAt),
  ],
);

export const flashUploadPart = sqliteTable(
  "flash_upload_part",
  {
    uploadId: text("upload_id")
      .notNull()
      .references(() => flashUpload.id, { onDelete: "cascade" }),
    /** From 1. */
    number: integer("number").notNull(),
    etag: text("etag").notNull(),
  },
  (table) => [primaryKey({ columns: [table.uploadId, table.number] })],
);

/** A client that waits for its user to approve it in the browser. */
export const flashAuthRequest = sqliteTable(
  "flash_auth_request",
  {
    id: text("id").primaryKey(),
    /** The account of its key; null while it is undecided. */
    accountId: text("account_id").references(() => account.id),
    status: text("status", { enum: AUTH_REQUEST_STATUSES }).notNull(),
    /** The key, encrypted, from its approval until it was fetched. */
    sealedKey: text("sealed_key"),
    /** As the client names itself; shown to the user. */
    client: text("client").notNull().default(""),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
  },
  (table) => [index("flash_auth_request_expiry").on(table.expiresAt)],
);

/** Deleted endpoints whose object has not yet confirmed that it is empty. */
export const endpointRemoval = sqliteTable("endpoint_removal", {
  endpointId: text("endpoint_id").primaryKey(),
  accountId: accountId(),
  deletedAt: integer("deleted_at").notNull(),
});

export const joinToken = sqliteTable("join_token", {
  hash: text("hash").primaryKey(),
  accountId: accountId(),
  name: text("name"),
  createdAt: integer("created_at").notNull(),
  expiresAt: integer("expires_at").notNull(),
  usedAt: integer("used_at"),
  /** The key that made it, which must still be valid when a host joins; null for older tokens. */
  apiKeyId: text("api_key_id"),
});

export const host = sqliteTable(
  "host",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    name: text("name").notNull(),
    tokenHash: text("token_hash").notNull(),
    createdAt: integer("created_at").notNull(),
    revokedAt: integer("revoked_at"),
    /** The key whose join token let it in; null for older hosts. */
    apiKeyId: text("api_key_id"),
    /** When that key ends, and the host with it. */
    expiresAt: integer("expires_at"),
  },
  (table) => [
    uniqueIndex("host_token_hash").on(table.tokenHash),
    index("host_account").on(table.accountId, table.createdAt),
  ],
);

/** Sensitive values that templates refer to by name. */
export const secret = sqliteTable(
  "secret",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    name: text("name").notNull(),
    description: text("description"),
    /** Encrypted; leaves the edge only in an assignment. */
    sealedValue: text("sealed_value").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [uniqueIndex("secret_account_name").on(table.accountId, table.name)],
);

/** Credentials with which hosts pull private images. */
export const registryAuth = sqliteTable(
  "registry_auth",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    name: text("name").notNull(),
    /** User name and password, encrypted; they leave the edge only in an assignment. */
    sealedCredentials: text("sealed_credentials").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [index("registry_auth_account").on(table.accountId, table.createdAt)],
);

export const networkVolume = sqliteTable(
  "network_volume",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    name: text("name").notNull(),
    sizeGb: integer("size_gb").notNull(),
    dataCenterId: text("data_center_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [index("network_volume_account").on(table.accountId, table.createdAt)],
);

/** Which caller changed what, and when; written in the transaction of the change. */
export const auditEntry = sqliteTable(
  "audit_entry",
  {
    /** Grows with time. */
    id: integer("id").primaryKey({ autoIncrement: true }),
    accountId: accountId(),
    at: integer("at").notNull(),
    apiKeyId: text("api_key_id").notNull(),
    /** The field of the mutation, or method and path of a REST call. */
    operation: text("operation").notNull(),
    subjectKind: text("subject_kind").notNull(),
    subjectId: text("subject_id").notNull(),
    subjectName: text("subject_name"),
    /** Names of what was set or changed; never values. */
    fields: strings("fields").notNull(),
  },
  (table) => [
    index("audit_entry_account").on(table.accountId, table.id),
    index("audit_entry_subject").on(table.accountId, table.subjectId, table.id),
  ],
);

/** Secrets with which an account's webhooks are signed. One without an end is in force, others run out. */
export const webhookSecret = sqliteTable(
  "webhook_secret",
  {
    id: text("id").primaryKey(),
    accountId: accountId(),
    /** Encrypted; `plain:<secret>` where no key was configured when it was made. */
    secret: text("secret").notNull(),
    createdAt: integer("created_at").notNull(),
    validUntil: integer("valid_until"),
  },
  (table) => [
    uniqueIndex("webhook_secret_in_force")
      .on(table.accountId)
      .where(sql`valid_until IS NULL`),
    index("webhook_secret_account").on(table.accountId, table.validUntil),
  ],
);

/** What was used in an hour, by endpoint; kept when the endpoint is deleted. Numbers only grow. */
export const usageHour = sqliteTable(
  "usage_hour",
  {
    endpointId: text("endpoint_id").notNull(),
    /** Its beginning. */
    hour: integer("hour").notNull(),
    accountId: accountId(),
    /** Its name then; empty when that was not known. */
    endpointName: text("endpoint_name").notNull().default(""),
    requests: integer("requests").notNull().default(0),
    completed: integer("completed").notNull().default(0),
    failed: integer("failed").notNull().default(0),
    cancelled: integer("cancelled").notNull().default(0),
    timedOut: integer("timed_out").notNull().default(0),
    expired: integer("expired").notNull().default(0),
    retried: integer("retried").notNull().default(0),
    coldStarts: integer("cold_starts").notNull().default(0),
    delayMs: integer("delay_ms").notNull().default(0),
    executionMs: integer("execution_ms").notNull().default(0),
    workerMs: integer("worker_ms").notNull().default(0),
    /** Time of GPUs by model, each GPU counted separately. */
    gpus: text("gpus", { mode: "json" }).$type<readonly GpuTime[]>().notNull().default([]),
    /** Time and cost of workers by version; empty in hours before prices of hosts were known. */
    versions: text("versions", { mode: "json" }).$type<readonly VersionTime[]>().notNull().default([]),
    /** Of workers, while they had jobs or requests. */
    busyMs: integer("busy_ms").notNull().default(0),
    /** Of a pod, whose id is that of the endpoint. */
    isPod: flag("is_pod").notNull().default(false),
    /** When it was last requested from the endpoint's object; 0 for never. */
    jobsAt: integer("jobs_at").notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.endpointId, table.hour] }),
    index("usage_hour_account").on(table.accountId, table.hour),
    index("usage_hour_hour").on(table.hour),
  ],
);

/** Up to where usage has been collected: hours before are complete. */
export const usageProgress = sqliteTable("usage_progress", {
  source: text("source").primaryKey(),
  hour: integer("hour").notNull(),
});

/** What hosts of an account have free, as its Fleet object has last reported. */
export const fleetStock = sqliteTable("fleet_stock", {
  accountId: accountId().primaryKey(),
  /** By the clock of the object. */
  at: integer("at").notNull(),
  hosts: text("hosts", { mode: "json" }).$type<readonly HostStock[]>().notNull(),
});

/** What logs of an account may have added to R2 on a day (UTC): what isolates took of it, stored or not. */
export const logDay = sqliteTable(
  "log_day",
  {
    accountId: accountId(),
    /** As `2026-11-23`. */
    day: text("day").notNull(),
    takenBytes: integer("taken_bytes").notNull(),
    /** When there was too little left; null while there is enough. */
    fullSince: integer("full_since"),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.day] }), index("log_day_day").on(table.day)],
);

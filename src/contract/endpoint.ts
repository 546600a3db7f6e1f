export const WORKERS_MAX_DEFAULT = 3;
/** Bounds the desired workers of one endpoint. */
export const WORKERS_PER_ENDPOINT_MAX = 1_000;
export const IDLE_TIMEOUT_DEFAULT_SECONDS = 5;
export const IDLE_TIMEOUT_MAX_SECONDS = 3_600;
export const SCALER_VALUE_DEFAULT = 4;
/** Disk of a container whose inline template does not set it. */
export const CONTAINER_DISK_DEFAULT_GB = 50;

/** What the objects need to know of an endpoint; the management API sends them every change. */
export type EndpointConfig = {
  readonly endpointId: string;
  readonly accountId: string;
  readonly name: string;
  readonly type: "QB" | "LB";
  /** Release number; grows when running workers must be replaced. */
  readonly version: number;
  readonly workersMin: number;
  readonly workersMax: number;
  readonly idleTimeoutSeconds: number;
  readonly scalerType: "QUEUE_DELAY" | "REQUEST_COUNT";
  readonly scalerValue: number;
  readonly executionTimeoutMs: number;
  /** Tiers in order of preference; empty for a CPU endpoint. */
  readonly gpuTiers: readonly string[];
  readonly excludedGpuModels: readonly string[];
  readonly gpuCount: number;
  /** GPU memory that each worker declares, in GB of 10^9 bytes; 0 or absent: it has its GPUs to itself. */
  readonly gpuMemoryGb?: number;
  readonly locations: readonly string[];
  /** Jobs that may wait at once; QUEUE_DEPTH_MAX when absent, as in what objects stored before. */
  readonly queueDepthMax?: number;

  // Absent in what objects stored before:

  /** Sizes of a CPU endpoint in order of preference, such as cpu5c-4-8. */
  readonly instanceIds?: readonly string[];
  readonly containerDiskInGb?: number;
  /** One of these must be on the worker's host; empty for none. */
  readonly networkVolumeIds?: readonly string[];
  /** Versions of CUDA that the host's driver may have; empty for any. */
  readonly allowedCudaVersions?: readonly string[];
  readonly minCudaVersion?: string | null;
  /** Whether the containers of workers that leave are kept for the next ones; null as OFF. */
  readonly flashBootType?: "OFF" | "FLASHBOOT" | "PRIORITY_FLASHBOOT" | null;
  /** How much capacity the endpoint is entitled to beside others of its account, and what comes before that. */
  readonly shareWeight?: number;
  readonly sharePriority?: SharePriority;
  /** Workers that are prepared before any job. */
  readonly workersPfbTarget?: number;
  /** What its workers need of what hosts store, see content.ts. */
  readonly contents?: readonly string[];
  /** A share of the workers tries this version; absent when all shall run it. */
  readonly canary?: Canary;
};

/** A version on trial beside an earlier one. */
export type Canary = {
  /** The earlier version, to which the other workers belong. */
  readonly from: number;
  /** The share of workers and jobs that the new version gets. */
  readonly percent: number;
};

export const CANARY_PERCENT_MAX = 50;

/** Which endpoints of an account come first where capacity is short. */
export const SHARE_PRIORITIES = ["LOW", "NORMAL", "HIGH"] as const;
export type SharePriority = (typeof SHARE_PRIORITIES)[number];
export const SHARE_WEIGHT_DEFAULT = 1;
export const SHARE_WEIGHT_MAX = 1_000;

/** GB of GPU memory that a worker may declare: beyond the largest cards. */
export const GPU_MEMORY_GB_MAX = 1_000;

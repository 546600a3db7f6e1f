/** What the objects need to know of an endpoint; the management API tells them of every change. */
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
  readonly locations: readonly string[];
  /** Jobs that may wait at once; QUEUE_DEPTH_MAX when absent, as in what objects stored before. */
  readonly queueDepthMax?: number;
};

import type { EndpointConfig } from "./endpoint.ts";

/** What clients say that a cluster of pods is for. */
export const CLUSTER_TYPES = ["APPLICATION", "TRAINING", "SLURM", "RAY"] as const;

/** What the Fleet object needs to know of a pod; the management API sends every change. */
export type PodConfig = Pick<
  EndpointConfig,
  | "accountId"
  | "name"
  | "version"
  | "gpuCount"
  | "locations"
  | "instanceIds"
  | "containerDiskInGb"
  | "networkVolumeIds"
  | "allowedCudaVersions"
  | "minCudaVersion"
> & {
  readonly podId: string;
  /** GPU models in order of preference; empty for a CPU pod. */
  readonly gpuModels: readonly string[];
  /** What it needs at least, where the share that goes with its GPUs is less; 0 for no demand. */
  readonly minMemoryMb: number;
  readonly minCpuMilli: number;
  /** GB of the volume that stays on its host while the pod exists; 0 for none. */
  readonly volumeInGb: number;
  /** Its host must have an address that clients reach. */
  readonly needsPublicAddress: boolean;
  /** Gives way to reserved pods and to workers of endpoints. */
  readonly isInterruptible: boolean;
  /** Dollars per hour and GPU, of an interruptible pod; those with the lowest bid give way first. */
  readonly bidPerGpu: number;
  /** The cluster that it is a part of, and its number in it from 0; absent for none. */
  readonly cluster?: { readonly clusterId: string; readonly rank: number } | undefined;
  /** When the pod is stopped or terminated by itself, in ms of the epoch; null for never. */
  readonly stopAt: number | null;
  readonly terminateAt: number | null;
};

/** What a pod needs of its host. */
import type { PodConfig } from "../../contract/pod.ts";
import type { Requirement } from "../placement/host-fit.ts";

const MEGABYTES_PER_GB = 1_000;

/** MB of disk that the volume of a pod takes of its host as long as the pod exists. */
export function volumeMbOf({ volumeInGb }: Pick<PodConfig, "volumeInGb">): number {
  return volumeInGb * MEGABYTES_PER_GB;
}

export type PodSurroundings = {
  /** The only host that will do; null for any. */
  readonly hostId: string | null;
  /** Of its volume, what is not on the host yet. */
  readonly newVolumeMb: number;
  /** Hosts on which it reaches the other pods of its cluster; absent for any. */
  readonly clusterHosts?: readonly string[] | undefined;
};

export function requirementOf(
  config: PodConfig,
  { hostId, newVolumeMb, clusterHosts }: PodSurroundings,
): Requirement {
  const { gpuModels, gpuCount, minMemoryMb, minCpuMilli, needsPublicAddress } = config;
  const { locations, instanceIds, containerDiskInGb } = config;
  const { networkVolumeIds, allowedCudaVersions, minCudaVersion } = config;
  return {
    gpuTiers: [],
    excludedGpuModels: [],
    gpuCount: gpuModels.length > 0 ? gpuCount : 0,
    locations,
    ...(instanceIds && { instanceIds }),
    ...(containerDiskInGb !== undefined && { containerDiskInGb }),
    ...(networkVolumeIds && { networkVolumeIds }),
    ...(allowedCudaVersions && { allowedCudaVersions }),
    ...(minCudaVersion !== undefined && { minCudaVersion }),
    pod: {
      ...{ gpuModels, minMemoryMb, minCpuMilli, newVolumeMb, hostId, needsPublicAddress },
      ...(clusterHosts && { clusterHosts }),
    },
  };
}

/** Whether a pod that has a place for one configuration has it for the other as well. */
export function needsSamePlace(a: PodConfig, b: PodConfig): boolean {
  const whole = (config: PodConfig) =>
    JSON.stringify(requirementOf(config, { hostId: null, newVolumeMb: volumeMbOf(config) }));
  return whole(a) === whole(b);
}

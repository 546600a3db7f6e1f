/**
 * How a worker's container is made.
 *
 * C1  No capabilities, no new privileges, bounded processes and memory; never privileged.
 * C2  Nothing of the host is mounted, least of all the Docker socket.
 * C3  A container sees the GPUs that are its own and no others, whatever its image or template asks for.
 * C4  Docker never restarts a container: whether a worker runs again is the edge's decision.
 */
import type Dockerode from "dockerode";
import { readStartCommand } from "./command-line.ts";
import type { WorkerSpec } from "./runtime.ts";

const MEGABYTE = 1024 * 1024;

export const HOST_LABEL = "edgerun.host";
const WORKER_LABEL = "edgerun.worker";
const ENDPOINT_LABEL = "edgerun.endpoint";
const REVISION_LABEL = "edgerun.revision";

/** Upper limit of the shared memory between a worker's processes; only what is used counts as memory. */
const SHARED_MEMORY_BYTES = 8 * 1024 * MEGABYTE;

const LOG_CONFIG = { Type: "json-file", Config: { "max-size": "10m", "max-file": "3" } };

export type ContainerSettings = {
  readonly hostId: string;
  readonly networkName: string;
  readonly hasRealGpus: boolean;
  /** Memory of one container; null for no limit. */
  readonly memoryLimitBytes: number | null;
  readonly pidsLimit: number;
};

export function containerName(workerId: string): string {
  return `edgerun-${workerId}`;
}

/** Whose container this is, from its labels; null when it is no worker's. */
export function ownerOfLabels(
  labels: Readonly<Record<string, string>>,
): { readonly workerId: string; readonly endpointId: string; readonly revision: number } | null {
  const workerId = labels[WORKER_LABEL];
  if (workerId === undefined) return null;
  return {
    workerId,
    endpointId: labels[ENDPOINT_LABEL] ?? "",
    revision: Number(labels[REVISION_LABEL] ?? 0),
  };
}

/** What Docker is asked to create for a worker. */
export function containerOptions(
  spec: WorkerSpec,
  settings: ContainerSettings,
): Dockerode.ContainerCreateOptions {
  const { entrypoint, command } = readStartCommand(spec.dockerArgs);
  return {
    name: containerName(spec.workerId),
    Image: spec.imageName,
    ...(entrypoint.length > 0 && { Entrypoint: [...entrypoint] }),
    ...(command.length > 0 && { Cmd: [...command] }),
    Env: Object.entries({ ...spec.env, ...gpuEnvironment(spec, settings) }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    Labels: {
      [HOST_LABEL]: settings.hostId,
      [WORKER_LABEL]: spec.workerId,
      [ENDPOINT_LABEL]: spec.endpointId,
      [REVISION_LABEL]: String(spec.revision),
    },
    HostConfig: hostConfig(spec, settings),
  };
}

function hostConfig(spec: WorkerSpec, settings: ContainerSettings): Dockerode.HostConfig {
  const { memoryLimitBytes } = settings;
  return {
    Init: true,
    Privileged: false,
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges"],
    PidsLimit: settings.pidsLimit,
    // Swap is part of the limit, or a worker would crawl instead of failing.
    ...(memoryLimitBytes !== null && { Memory: memoryLimitBytes, MemorySwap: memoryLimitBytes }),
    ShmSize: SHARED_MEMORY_BYTES,
    IpcMode: "private",
    NetworkMode: settings.networkName,
    RestartPolicy: { Name: "no" }, // C4
    LogConfig: LOG_CONFIG,
    ...(hasOwnGpus(spec, settings) && { DeviceRequests: [gpuRequest(spec)] }),
  };
}

function hasOwnGpus(spec: WorkerSpec, settings: ContainerSettings): boolean {
  return settings.hasRealGpus && spec.gpuIndexes.length > 0;
}

function gpuRequest(spec: WorkerSpec): Dockerode.DeviceRequest {
  return { Driver: "nvidia", DeviceIDs: spec.gpuIndexes.map(String), Capabilities: [["gpu"]] };
}

/** C3: where the NVIDIA runtime is Docker's default it obeys this variable, and CUDA images set it to "all". */
function gpuEnvironment(spec: WorkerSpec, settings: ContainerSettings): Readonly<Record<string, string>> {
  return { NVIDIA_VISIBLE_DEVICES: hasOwnGpus(spec, settings) ? spec.gpuIndexes.join(",") : "void" };
}

/**
 * How a worker's container is made.
 *
 * C1  The few capabilities that root needs inside its own files and processes, and in a pod for a login; no new
 *     privileges, bounded processes and memory; never privileged. Nothing of a template or image can change that.
 * C2  Nothing of the host is mounted but the worker's own network volume, the pod's own local volume, and the files
 *     of its app and its models, which it may read only; least of all the Docker socket. Where the owner of the host runs
 *     MPS, workers that share a GPU have its pipes and the host's shared memory as well.
 * C3  A container sees the GPUs that are its own and no others, whatever its image or template asks for.
 * C4  Docker never restarts a container: whether a worker runs again is the edge's decision.
 */
import { HOST_LABEL } from "../daemon/docker-calls.ts";
import type Dockerode from "dockerode";
import { APP_DIRECTORY, PACKED_ARTIFACT_PATH } from "../../../src/contract/agent/artifact.ts";
import { artifactEnvironment } from "../../artifacts/artifact-environment.ts";
import type { ArtifactPlace } from "../../artifacts/artifact-directory.ts";
import { folderOf, modelEnvironment } from "../../models/model-environment.ts";
import { readStartCommand } from "../interface/start-command.ts";
import { gpuDevicesOf, type PodShare, type WorkerSpec } from "../interface/runtime.ts";

const MEGABYTE = 1024 * 1024;

const WORKER_LABEL = "edgerun.worker";
const ENDPOINT_LABEL = "edgerun.endpoint";
const REVISION_LABEL = "edgerun.revision";
const ARTIFACT_LABEL = "edgerun.artifact";
/** Ids with commas between them, which no id has. */
const MODELS_LABEL = "edgerun.models";
const DISK_LABEL = "edgerun.disk-bytes";
const VOLUME_LABEL = "edgerun.volume-bytes";
const GPU_MEMORY_LABEL = "edgerun.gpu-memory-mb";
const ALLOWED_VOLUME_LABEL = "edgerun.allowed-volume-bytes";

/** Upper limit of the shared memory between a worker's processes; only what is used counts as memory. */
const SHARED_MEMORY_BYTES = 8 * 1024 * MEGABYTE;

/**
 * Images are made for root: package managers and entry points give files away, become another user and end its
 * processes. Docker's other defaults reach beyond the container, or are hardly ever needed.
 */
const CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"];
/** What people do in a pod beside that: sshd confines itself to a directory, and notes a login for the audit. */
const POD_CAPABILITIES = [...CAPABILITIES, "AUDIT_WRITE", "FSETID", "SYS_CHROOT"];

/** When memory runs out, the host ends a worker before its own processes (-1000 to 1000). */
const OUT_OF_MEMORY_SCORE = 500;

/** Where workers expect their network volume. */
export const VOLUME_MOUNT = "/runpod-volume";

/** Where workers expect models, each in its folder. */
export const HUB_MOUNT = `${VOLUME_MOUNT}/huggingface-cache/hub`;

/** Where clients of MPS look for its daemon. */
const MPS_MOUNT = "/tmp/nvidia-mps";

/** Docker's measure of a whole CPU, and the largest that it takes. */
const SHARES_PER_CPU = 1_024;
const SHARES_MAX = 262_144;

const LOG_CONFIG = { Type: "json-file", Config: { "max-size": "10m", "max-file": "3" } };

export type ContainerSettings = {
  readonly hostId: string;
  readonly networkName: string;
  /** Of pods of clusters. */
  readonly clusterNetworkName: string;
  readonly hasRealGpus: boolean;
  /** The NVIDIA Container Toolkit of this host would load what a container names. */
  readonly clearsPreloads: boolean;
  readonly pidsLimit: number;
  readonly cpuCount: number;
  /** Where the MPS daemon of this host listens; absent where its owner runs none. */
  readonly mpsDirectory?: string | undefined;
};

/** What of the host a container is given. */
export type HostShare = {
  /** Directory of its network volume; null for none. */
  readonly volumePath: string | null;
  /** Bytes that may be in the pod's own volume where those are more than its limit; 0 where they are not. */
  readonly allowedVolumeBytes: number;
  /** Files of its app; null for none. */
  readonly artifact: (ArtifactPlace & { readonly imagePythonPath: string }) | null;
  /** Its models, and where they are on this host. */
  readonly models: readonly { readonly id: string; readonly path: string }[];
  /** Docker itself limits the worker's disk. */
  readonly hasDiskQuota: boolean;
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

/** SHA-256s of the files that containers have mounted, in any state. */
export function artifactsOfContainers(
  containers: readonly Pick<Dockerode.ContainerInfo, "Labels">[],
): ReadonlySet<string> {
  return new Set(containers.flatMap(({ Labels }) => Labels[ARTIFACT_LABEL] ?? []));
}

/** Ids of the models that containers have mounted, in any state. */
export function modelsOfContainers(
  containers: readonly Pick<Dockerode.ContainerInfo, "Labels">[],
): ReadonlySet<string> {
  return new Set(containers.flatMap(({ Labels }) => Labels[MODELS_LABEL]?.split(",") ?? []));
}

/** Memory of a container that compiles an app, and of what it writes. */
const COMPILER_MEMORY_BYTES = 1024 * MEGABYTE;

/** The create request for a container that has an app's files and one Python program, and reaches nothing else. */
export function bytecodeContainer(request: {
  readonly hostId: string;
  readonly imageId: string;
  readonly sha256: string;
  readonly appPath: string;
  readonly program: string;
}): Dockerode.ContainerCreateOptions {
  return {
    Image: request.imageId,
    Entrypoint: ["sh", "-c", 'exec "$(command -v python3 || command -v python)" -I -c "$0"'],
    Cmd: [request.program],
    User: "65534:65534",
    WorkingDir: "/",
    Env: ["NVIDIA_VISIBLE_DEVICES=void"], // C3
    Labels: { [HOST_LABEL]: request.hostId, [ARTIFACT_LABEL]: request.sha256 },
    AttachStdout: true,
    HostConfig: {
      AutoRemove: true, // also when the agent has gone
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      PidsLimit: 64,
      OomScoreAdj: OUT_OF_MEMORY_SCORE,
      Memory: COMPILER_MEMORY_BYTES,
      MemorySwap: COMPILER_MEMORY_BYTES,
      CpuShares: 2,
      NetworkMode: "none",
      ReadonlyRootfs: true,
      Tmpfs: { "/tmp": "rw,size=256m,mode=1777" },
      LogConfig: { Type: "none", Config: {} },
      Mounts: [readOnlyMount(request.appPath, APP_DIRECTORY)],
    },
  };
}

/** The create request for a worker's container. */
export function containerOptions(
  spec: WorkerSpec,
  settings: ContainerSettings,
  share: HostShare,
): Dockerode.ContainerCreateOptions {
  const { entrypoint, command } = readStartCommand(spec.dockerArgs);
  return {
    name: containerName(spec.workerId),
    Image: spec.imageName,
    ...(entrypoint.length > 0 && { Entrypoint: [...entrypoint] }),
    ...(command.length > 0 && { Cmd: [...command] }),
    ...(share.artifact && { WorkingDir: APP_DIRECTORY }),
    ...(spec.pod && { Hostname: spec.workerId, ...exposedPorts(spec.pod) }),
    Env: Object.entries({
      ...ownEnvironment(spec, share),
      ...gpuEnvironment(spec, settings),
      ...volumeEnvironment(spec, share),
    }).map(([name, value]) => `${name}=${value}`),
    Labels: {
      [HOST_LABEL]: settings.hostId,
      [WORKER_LABEL]: spec.workerId,
      [ENDPOINT_LABEL]: spec.endpointId,
      [REVISION_LABEL]: String(spec.revision),
      [DISK_LABEL]: String(diskBytes(spec)),
      ...(spec.pod?.volumePath && !share.volumePath && { [VOLUME_LABEL]: String(spec.pod.volumeInGb * 1e9) }),
      ...(share.allowedVolumeBytes > 0 && { [ALLOWED_VOLUME_LABEL]: String(share.allowedVolumeBytes) }),
      ...(share.artifact && spec.artifact && { [ARTIFACT_LABEL]: spec.artifact.sha256 }),
      ...(spec.gpuMemoryMb !== undefined && { [GPU_MEMORY_LABEL]: String(spec.gpuMemoryMb) }),
      ...(share.models.length > 0 && { [MODELS_LABEL]: share.models.map(({ id }) => id).join(",") }),
    },
    HostConfig: hostConfig(spec, settings, share),
    ...ownAddress(spec, settings),
  };
}

/** The network that the container is in. */
export function networkOf(
  { pod }: Pick<WorkerSpec, "pod">,
  { networkName, clusterNetworkName }: ContainerSettings,
): string {
  return pod?.clusterAddress === undefined ? networkName : clusterNetworkName;
}

function ownAddress(
  { pod }: WorkerSpec,
  { clusterNetworkName }: ContainerSettings,
): Pick<Dockerode.ContainerCreateOptions, "NetworkingConfig"> {
  const { clusterAddress: IPv4Address } = pod ?? {};
  if (IPv4Address === undefined) return {};
  return { NetworkingConfig: { EndpointsConfig: { [clusterNetworkName]: { IPAMConfig: { IPv4Address } } } } };
}

/** The types of the client are behind the API. */
type HostConfig = Dockerode.HostConfig & { readonly CgroupnsMode: "private" };

function hostConfig(spec: WorkerSpec, settings: ContainerSettings, share: HostShare): HostConfig {
  return {
    Init: true,
    Privileged: false,
    CapDrop: ["ALL"],
    CapAdd: spec.pod ? POD_CAPABILITIES : CAPABILITIES,
    SecurityOpt: ["no-new-privileges"],
    PidsLimit: settings.pidsLimit,
    OomScoreAdj: OUT_OF_MEMORY_SCORE,
    // The host may pipe the core dump of a crashed program to one of its own programs.
    Ulimits: [{ Name: "core", Soft: 0, Hard: 0 }],
    ...cpuAndMemory(spec, settings),
    ...(share.hasDiskQuota && { StorageOpt: { size: String(diskBytes(spec)) } }),
    ...(!usesMps(spec, settings) && { ShmSize: SHARED_MEMORY_BYTES }),
    IpcMode: usesMps(spec, settings) ? "host" : "private", // clients of MPS share memory with its server
    CgroupnsMode: "private",
    NetworkMode: networkOf(spec, settings),
    RestartPolicy: { Name: "no" }, // C4
    LogConfig: LOG_CONFIG,
    ...publishedPorts(spec),
    ...mounts(spec, settings, share),
    ...(hasOwnGpus(spec, settings) && { DeviceRequests: [gpuRequest(spec)] }),
  };
}

/** A CPU worker has the requested CPUs; one with GPUs has a share that it may exceed while CPUs are idle. */
function cpuAndMemory(
  { limits, gpuIndexes }: WorkerSpec,
  { cpuCount }: ContainerSettings,
): Dockerode.HostConfig {
  if (limits === undefined) return {};
  const memory = limits.memoryMb * MEGABYTE;
  const cpus = Math.min(limits.cpuMilli / 1_000, cpuCount);
  const shares = Math.min(Math.max(2, Math.floor(cpus * SHARES_PER_CPU)), SHARES_MAX);
  return {
    // Swap is part of the limit, or a worker would crawl instead of failing.
    ...(memory > 0 && { Memory: memory, MemorySwap: memory }),
    ...(cpus > 0 && (gpuIndexes.length > 0 ? { CpuShares: shares } : { NanoCpus: Math.round(cpus * 1e9) })),
  };
}

/** Bytes that a container may write to its own file system, from its labels; 0 for no limit. */
export function diskBytesOfLabels(labels: Readonly<Record<string, string>>): number {
  return Number(labels[DISK_LABEL] ?? 0);
}

function diskBytes({ containerDiskInGb }: Pick<WorkerSpec, "containerDiskInGb">): number {
  return containerDiskInGb * 1e9;
}

/** MiB of GPU memory that a container has declared, from its labels; 0 where it shares no GPU. */
export function gpuMemoryMbOfLabels(labels: Readonly<Record<string, string>>): number {
  return Number(labels[GPU_MEMORY_LABEL] ?? 0);
}

/** Bytes that a pod may write to its local volume, from its labels; 0 for no limit. */
export function volumeBytesOfLabels(labels: Readonly<Record<string, string>>): number {
  return Number(labels[VOLUME_LABEL] ?? 0);
}

/** Bytes that may be in a local volume that was too full at the start, from labels; 0 where it was not. */
export function allowedVolumeBytesOfLabels(labels: Readonly<Record<string, string>>): number {
  return Number(labels[ALLOWED_VOLUME_LABEL] ?? 0);
}

function exposedPorts({ ports }: PodShare): Pick<Dockerode.ContainerCreateOptions, "ExposedPorts"> {
  return { ExposedPorts: Object.fromEntries(ports.map((port) => [`${port.private}/tcp`, {}])) };
}

function publishedPorts({ pod }: WorkerSpec): Pick<Dockerode.HostConfig, "PortBindings"> {
  if (pod === undefined) return {};
  const bindings = pod.ports.map((port) => [
    `${port.private}/tcp`,
    [{ HostIp: pod.listenAddress, HostPort: String(port.public) }],
  ]);
  return { PortBindings: Object.fromEntries(bindings) };
}

/** A network volume is where a local one would be: a pod has one of the two. */
function mounts(
  spec: WorkerSpec,
  settings: ContainerSettings,
  { volumePath, artifact, models }: HostShare,
): Pick<Dockerode.HostConfig, "Mounts"> {
  const volume = volumePath ?? spec.pod?.volumePath ?? null;
  const found = [
    ...(volume === null ? [] : [bindMount(volume, volumeMountOf(spec))]),
    ...(artifact === null
      ? []
      : [
          readOnlyMount(artifact.appPath, APP_DIRECTORY),
          readOnlyMount(artifact.archivePath, PACKED_ARTIFACT_PATH),
        ]),
    ...(usesMps(spec, settings) && settings.mpsDirectory !== undefined
      ? [bindMount(settings.mpsDirectory, MPS_MOUNT)]
      : []),
    ...models.map(({ id, path }) => readOnlyMount(path, `${HUB_MOUNT}/${folderOf(id)}`)),
  ];
  return found.length > 0 ? { Mounts: found } : {};
}

function volumeMountOf({ pod }: WorkerSpec): string {
  return pod?.volumeMountPath || VOLUME_MOUNT;
}

function readOnlyMount(path: string, target: string): Dockerode.MountSettings {
  return { ...bindMount(path, target), ReadOnly: true };
}

function bindMount(path: string, target: string): Dockerode.MountSettings {
  return { Type: "bind", Source: path, Target: target, BindOptions: { Propagation: "rprivate" } };
}

function ownEnvironment(spec: WorkerSpec, { artifact, models }: HostShare): Readonly<Record<string, string>> {
  const env = models.length > 0 ? modelEnvironment(spec.env, HUB_MOUNT) : spec.env;
  if (artifact === null) return env;
  const view = { appDirectory: APP_DIRECTORY, archivePath: PACKED_ARTIFACT_PATH };
  return artifactEnvironment(env, view, artifact.imagePythonPath);
}

function volumeEnvironment(spec: WorkerSpec, { volumePath }: HostShare): Readonly<Record<string, string>> {
  const hasVolume = volumePath !== null || Boolean(spec.pod?.volumePath);
  return hasVolume ? { EDGERUN_VOLUME: volumeMountOf(spec) } : {};
}

function hasOwnGpus(spec: WorkerSpec, settings: ContainerSettings): boolean {
  return settings.hasRealGpus && spec.gpuIndexes.length > 0;
}

/** It shares a GPU on a host whose owner runs MPS. */
function usesMps(spec: WorkerSpec, settings: ContainerSettings): boolean {
  return hasOwnGpus(spec, settings) && spec.gpuMemoryMb !== undefined && settings.mpsDirectory !== undefined;
}

/** By the limit MPS refuses memory beyond what is declared; the only GPU of the container is its number 0. */
function mpsEnvironment(spec: WorkerSpec, settings: ContainerSettings): Readonly<Record<string, string>> {
  if (!usesMps(spec, settings)) return {};
  return {
    CUDA_MPS_PIPE_DIRECTORY: MPS_MOUNT,
    CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: `0=${spec.gpuMemoryMb}M`,
  };
}

function gpuRequest(spec: WorkerSpec): Dockerode.DeviceRequest {
  return { Driver: "nvidia", DeviceIDs: [...gpuDevicesOf(spec)], Capabilities: [["gpu"]] };
}

/**
 * C3: where the NVIDIA runtime is Docker's default it obeys this variable, and CUDA images set it to "all". A worker
 * with GPUs gets what else the runtime would do for an image's variables set to nothing.
 */
function gpuEnvironment(spec: WorkerSpec, settings: ContainerSettings): Readonly<Record<string, string>> {
  const isOwner = hasOwnGpus(spec, settings);
  const closed = isOwner ? closedVariables(settings) : [];
  return {
    ...Object.fromEntries(closed.map((name) => [name, ""])),
    NVIDIA_VISIBLE_DEVICES: isOwner ? gpuDevicesOf(spec).join(",") : "void",
    ...mpsEnvironment(spec, settings),
  };
}

/** By these the NVIDIA runtime gives a container devices of the host beside its GPUs. */
const HOST_DEVICE_VARIABLES = [
  "NVIDIA_GDRCOPY",
  "NVIDIA_GDS",
  "NVIDIA_IMEX_CHANNELS",
  "NVIDIA_MIG_CONFIG_DEVICES",
  "NVIDIA_MIG_MONITOR_DEVICES",
  "NVIDIA_MOFED",
  "NVIDIA_NVSWITCH",
];
/** An old toolkit lets an image run code as root of the host by these; with a later one they are the image's own. */
const PRELOAD_VARIABLES = ["LD_AUDIT", "LD_PRELOAD"];

function closedVariables({ clearsPreloads }: ContainerSettings): readonly string[] {
  return clearsPreloads ? [...HOST_DEVICE_VARIABLES, ...PRELOAD_VARIABLES] : HOST_DEVICE_VARIABLES;
}

/** Variables of a template that a worker does not get as they are. */
export function overriddenVariables(spec: WorkerSpec, settings: ContainerSettings): readonly string[] {
  if (!hasOwnGpus(spec, settings)) return [];
  return closedVariables(settings).filter((name) => (spec.env[name] ?? "") !== "");
}

/**
 * The interface between the agent and what runs workers on a host: Docker or plain processes.
 *
 * R1  A worker is known by its workerId alone; starting one that already runs is a no-op.
 * R2  Workers that a runtime has started are listed again after a restart of the agent (adoption).
 * R3  After `remove` nothing of the worker is left: no process, no container, no working directory.
 * R4  Two workers never share a working directory.
 * R5  A frozen worker runs no instruction and keeps all its memory; stopping and removing it still work.
 */

import type { ClusterNetwork, PublishedPort } from "../../../src/contract/agent/agent.ts";
import type { Artifact } from "../../../src/contract/agent/artifact.ts";
import type { AssignedModels, HostModel } from "../../../src/contract/model.ts";
import type { ArtifactSourceOptions } from "../../artifacts/artifact-download.ts";
import type { ModelNeedsOptions } from "../../models/model-store.ts";
import type { CachedImageStore } from "../../disk/cached-images.ts";
import type { Socket } from "node:net";
import type { CommandRequest, RunningCommand } from "./command.ts";
import type { OutputReader } from "./output.ts";

/** All that is needed to run one worker, address and token of the agent already in `env`. */
export type WorkerSpec = {
  readonly workerId: string;
  readonly endpointId: string;
  readonly revision: number;
  readonly imageName: string;
  readonly dockerArgs: string;
  readonly env: Readonly<Record<string, string>>;
  readonly containerDiskInGb: number;
  readonly gpuIndexes: readonly number[];
  /** MiB that it may take of each of these, which it shares; absent: they are its own. */
  readonly gpuMemoryMb?: number | undefined;
  /** By these its GPUs are requested where their indexes do not do: parts of cards have names of their own. */
  readonly gpuDevices?: readonly string[] | undefined;
  readonly registryAuth: RegistryAuth | null;
  /** What it may use of the host's CPU and memory; absent for as much as there is. */
  readonly limits?: WorkerLimits | undefined;
  /** Files of an app, which the worker finds unpacked at APP_DIRECTORY and may not change. */
  readonly artifact?: Artifact | undefined;
  /** Models that it finds in HF_HUB_CACHE and may not change. */
  readonly models?: AssignedModels | undefined;
  /** It is given one of these, the first that this host has. */
  readonly networkVolumeIds?: readonly string[] | undefined;
  /** Where its own server listens; absent for a worker without one. */
  readonly serverPorts?: ServerPorts | undefined;
  /** What a pod has of the host; absent for workers of endpoints. */
  readonly pod?: PodShare | undefined;
};

export type PodShare = {
  readonly ports: readonly PublishedPort[];
  /** Address of this machine at which they are published. */
  readonly listenAddress: string;
  /** Directory of its local volume; null for none. */
  readonly volumePath: string | null;
  /** What it may write there; 0 for no limit. */
  readonly volumeInGb: number;
  /** Where its container finds that volume, or its network volume; empty for the usual place. */
  readonly volumeMountPath: string;
  /** Its address in the network of clusters; absent for any in that of the workers. */
  readonly clusterAddress?: string | undefined;
};

export type WorkerLimits = {
  /** Thousandths of a vCPU. */
  readonly cpuMilli: number;
  readonly memoryMb: number;
};

/** What a container has used of its host. */
export type ContainerUse = {
  /** When it was read, in ms of any clock. */
  readonly at: number;
  /** Time of all cores since the container started, in ms. */
  readonly cpuMs: number;
  /** Without what the system would give back at once. */
  readonly memoryBytes: number;
};

/** Where a worker's own server takes requests, and where its health is checked. */
export type ServerPorts = { readonly port: number; readonly healthPort: number };

/** A listening TCP socket; its IP address may be of either family. */
export type ListeningSocket = { readonly address: string; readonly port: number };

export type RegistryAuth = {
  readonly username: string;
  readonly password: string;
  /** The name that its owner gave it. */
  readonly name?: string | undefined;
};

/** A worker that the runtime finds on this host, running or not. */
export type FoundWorker = {
  readonly workerId: string;
  readonly endpointId: string;
  readonly revision: number;
  /** Frozen ones run, too. */
  readonly isRunning: boolean;
  readonly isFrozen: boolean;
  /** Exit code of one that does not run; null when unknown. */
  readonly exitCode: number | null;
};

export type WorkerExit = {
  readonly workerId: string;
  readonly exitCode: number | null;
  /** One sentence: exited with code 3, killed for memory, killed by signal. */
  readonly reason: string;
};

/** The progress of the image, the files or the models, as text. */
/** `detail`: null once it is there, if it was not before. */
export type PrepareProgress = { readonly what: "image" | "files" | "models"; readonly detail: string | null };

export type PrepareOutcome =
  /** `warning`: what users should know although the start continues. */
  | { readonly kind: "prepared"; readonly warning?: string }
  | { readonly kind: "failed"; readonly detail: string };

/** What a runtime needs to cache images, files of apps and models, and to remove them again. */
export type CacheOptions = ArtifactSourceOptions &
  ModelNeedsOptions & {
    readonly cachedImages: CachedImageStore;
    /** Names of the images of the assigned workers. */
    readonly assignedImages: () => ReadonlySet<string>;
  };

export type RuntimeKind = "docker" | "process";

export interface Runtime {
  readonly kind: RuntimeKind;
  /** Host name or address under which a worker reaches a server of the agent. */
  agentAddress(): Promise<string>;
  /** Opens this port of the agent's address to workers. */
  admit(port: number): Promise<void>;
  /** Follows what the edge says of the network of clusters; undefined: no pod of one is here. Never throws. */
  followClusters(network: ClusterNetwork | undefined): Promise<void>;
  /** Ports for a worker's server: those wanted, or others where workers share the ports of the host. */
  portsFor(requested: ServerPorts): Promise<ServerPorts>;
  /** Where the agent reaches a worker's server, which listens at `ports`. Throws when the worker does not run. */
  locateServer(workerId: string, ports: ServerPorts): Promise<ServerPorts & { readonly host: string }>;
  /** Where the worker's own programs listen; null when unknown. */
  listening(workerId: string): Promise<readonly ListeningSocket[] | null>;
  /**
   * Runs a command in the worker, with the worker's rights, variables and directory and no more. Throws with a message
   * for users when the worker does not run or is frozen, or the command cannot be started.
   */
  exec(workerId: string, request: CommandRequest): Promise<RunningCommand>;
  /**
   * Connects to a TCP port at which something in the worker listens, be it on loopback alone; never to anything outside
   * of the worker. The socket may be half open, and is not read yet. Throws with a message for users.
   */
  connect(workerId: string, port: number): Promise<Socket>;
  /** What the worker uses; null where that is unknown, and while it does not run. */
  use(workerId: string): Promise<ContainerUse | null>;
  /**
   * Gets the image, and the files of the app and the models where there are any, onto this host. Reports the progress as text; never
   * throws for what is missing.
   */
  prepare(
    spec: WorkerSpec,
    onProgress: (progress: PrepareProgress) => void,
    /** The worker is no longer assigned. */
    signal?: AbortSignal,
  ): Promise<PrepareOutcome>;
  /** From here on what was brought to this host is remembered, and removed when the disk gets full. */
  configureCache(options: CacheOptions): void;
  /** Disk space of caches that could be freed on demand, in bytes. */
  freeableBytes(): Promise<number>;
  /** Images and files of apps that are on this host as far as is known now; see content.ts. */
  storedContents(): readonly string[];
  /** Whole models that are on this host as far as is known now, the last used first. */
  storedModels(): readonly HostModel[];
  /** What the worker's image is by its content: the registry's digest, or an id where it came from none. */
  imageDigest(workerId: string): Promise<string | null>;
  /** Creates and starts the worker. Throws with a clear message when the runtime refuses. */
  start(spec: WorkerSpec): Promise<void>;
  /** Suspends everything that runs for the worker. Throws when the worker does not run; no-op for a frozen one. */
  freeze(workerId: string): Promise<void>;
  /** Resumes a frozen worker. Throws when the worker does not run; no-op for one that is not frozen. */
  thaw(workerId: string): Promise<void>;
  /** SIGTERM, then SIGKILL after the grace (0: at once). Resolves when the worker has ended. */
  stop(workerId: string, graceMs: number): Promise<void>;
  /** Kills what still runs and removes every trace. No-op for an unknown worker. */
  remove(workerId: string): Promise<void>;
  /** All workers of this host, also those of an earlier agent process. */
  list(): Promise<readonly FoundWorker[]>;
  /** Last lines of output, oldest first. */
  lastLines(workerId: string, count: number): Promise<readonly string[]>;
  /** Passes on what the worker prints; resolves when it has ended and all output was passed on, or at the signal. */
  output(workerId: string, reader: OutputReader): Promise<void>;
  /** Calls back once for each worker that ends, for whatever reason. Returns a function that stops watching. */
  watch(onExit: (exit: WorkerExit) => void): () => void;
  /** Releases watches and sockets of the agent's own; leaves the workers alone. */
  close(): Promise<void>;
}

export type Preparing = {
  readonly what: PrepareProgress["what"];
  readonly run: (onProgress: (detail: string) => void) => Promise<PrepareOutcome>;
};

export async function prepareAll(
  preparations: readonly Preparing[],
  onProgress: (progress: PrepareProgress) => void,
): Promise<PrepareOutcome> {
  const details = new Map<string, string>();
  const runs = preparations.map(async ({ what, run }) => {
    const outcome = await run((detail) => {
      details.set(what, detail);
      onProgress({ what, detail: [...details.values()].join("; ") });
    });
    const wasMissing = details.delete(what);
    if (wasMissing && outcome.kind === "prepared") onProgress({ what, detail: null });
    return outcome;
  });
  const outcomes = await Promise.all(runs);
  const errors = outcomes.flatMap((outcome) => (outcome.kind === "failed" ? [outcome.detail] : []));
  if (errors.length > 0) return { kind: "failed", detail: errors.join(" ") };
  const warnings = outcomes.flatMap((outcome) =>
    outcome.kind === "prepared" ? (outcome.warning ?? []) : [],
  );
  return warnings.length > 0 ? { kind: "prepared", warning: warnings.join(" ") } : { kind: "prepared" };
}

/** The names of its GPUs for drivers and containers. */
export function gpuDevicesOf({ gpuDevices, gpuIndexes }: WorkerSpec): readonly string[] {
  return gpuDevices ?? gpuIndexes.map(String);
}

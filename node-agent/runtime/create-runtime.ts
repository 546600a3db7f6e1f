import { errorMessage } from "../../src/std/errors.ts";
import Dockerode from "dockerode";
import type { AgentLog } from "../core/log.ts";
import type { Volumes } from "../disk/volumes.ts";
import { DiskSpace, freeBytesOf } from "../disk/disk-space.ts";
import { DockerRuntime, type DockerRuntimeOptions } from "./docker/docker-runtime.ts";
import { ProcessRuntime } from "./process/process-runtime.ts";
import type { Runtime, RuntimeKind } from "./interface/runtime.ts";
import { isConflict, isForbidden } from "./daemon/docker-errors.ts";

const PING_LIMIT_MS = 3_000;
/** Time between two checks of a disk that stores files of apps and models only. */
const CHECK_INTERVAL_MS = 60_000;

/** Docker when a daemon answers, else plain processes, with the reason. Throws when a requested Docker is missing. */
export async function chooseRuntime(
  requested: RuntimeKind | undefined,
): Promise<{ readonly kind: RuntimeKind; readonly why: string }> {
  if (requested === "process") return { kind: "process", why: "asked for" };
  const error = await dockerError();
  if (error === null) return { kind: "docker", why: "a Docker daemon answers" };
  if (requested === undefined) {
    const why = `no Docker daemon answers (${error}); workers run as plain processes without isolation`;
    return { kind: "process", why };
  }
  throw new Error(
    `No Docker daemon answers (${error}). Start Docker, or set DOCKER_HOST, or choose --runtime process.`,
  );
}

export type RuntimeSettings = Pick<
  DockerRuntimeOptions,
  | "networkName"
  | "clusterAddress"
  | "allowedNetworks"
  | "isOpenNetworkAllowed"
  | "allowedRegistries"
  | "desktop"
  | "mpsDirectory"
> & {
  readonly hostId: string;
  readonly stateDir: string;
  readonly hasRealGpus: boolean;
  /** The NVIDIA Container Toolkit of this host would load what a container names. */
  readonly clearsPreloads: boolean;
  /** Used by plain processes; see ProcessRuntimeOptions. */
  readonly pythonPackage: string | undefined;
  readonly volumes: Volumes;
  readonly log: AgentLog;
  /** Free disk below which unused images, files of apps and models are removed. */
  readonly diskReserveBytes: number;
  /** What models may take of the disk that the state directory is on. */
  readonly modelCacheBytes: number;
  /** The state directory is on the disk that images are on. */
  readonly isStateBesideImages: boolean;
};

export function createRuntime(kind: RuntimeKind, settings: RuntimeSettings): Runtime {
  const {
    stateDir,
    diskReserveBytes: reserveBytes,
    isStateBesideImages,
    pythonPackage,
    modelCacheBytes: maxBytes,
    ...docker
  } = settings;
  const models = { maxBytes };
  if (kind === "docker") {
    const disk = isStateBesideImages ? undefined : diskSpaceOf(stateDir, reserveBytes);
    return new DockerRuntime({
      ...docker,
      images: { reserveBytes },
      artifacts: { stateDirectory: stateDir, ...(disk && { disk }) },
      models,
    });
  }
  const { hasRealGpus, volumes, log } = settings;
  const disk = diskSpaceOf(stateDir, reserveBytes);
  return new ProcessRuntime({
    stateDirectory: stateDir,
    hasRealGpus,
    pythonPackage,
    volumes,
    log,
    disk,
    models,
  });
}

function diskSpaceOf(directory: string, reserveBytes: number): DiskSpace {
  return new DiskSpace({
    freeBytes: () => freeBytesOf(directory),
    reserveBytes,
    checkIntervalMs: CHECK_INTERVAL_MS,
  });
}

/** Why no daemon answers; null when one does. */
async function dockerError(): Promise<string | null> {
  try {
    await new Dockerode({ timeout: PING_LIMIT_MS }).ping();
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}

type Place = { readonly hostId: string; readonly stateDir: string };

/** Removes all workers of a host, running or not; returns their number. The agent must not run. */
export async function removeAllWorkers(kind: RuntimeKind, place: Place): Promise<number> {
  const runtime = openRuntime(kind, place);
  const alive = setInterval(() => {}, 1_000); // what a runtime waits for does not keep a process from ending
  try {
    const workers = await runtime.list();
    for (const { workerId } of workers) await runtime.remove(workerId);
    return workers.length;
  } finally {
    clearInterval(alive);
    await runtime.close();
  }
}

function openRuntime(kind: RuntimeKind, { hostId, stateDir }: Place): Runtime {
  if (kind === "docker") return new DockerRuntime({ hostId, hasRealGpus: false });
  return new ProcessRuntime({ stateDirectory: stateDir, hasRealGpus: false });
}

/**
 * Removes the network of the workers and its firewall rules, unless containers of another agent are on it; returns
 * whether it is gone.
 */
export async function removeWorkerNetwork(networkName?: string): Promise<boolean> {
  const named = networkName === undefined ? {} : { networkName };
  try {
    await new DockerRuntime({ hostId: "", hasRealGpus: false, ...named }).removeNetwork();
    return true;
  } catch (error) {
    if (isConflict(error) || isForbidden(error)) return false;
    throw error;
  }
}

import Dockerode from "dockerode";
import type { AgentLog } from "../log.ts";
import type { Volumes } from "../volumes/volumes.ts";
import { DiskRoom } from "./disk-room.ts";
import { freeBytesOf } from "./docker-root.ts";
import { DockerRuntime, type DockerRuntimeOptions } from "./docker-runtime.ts";
import { ProcessRuntime } from "./process-runtime.ts";
import type { Runtime } from "./runtime.ts";

export type RuntimeKind = Runtime["kind"];

const PING_LIMIT_MS = 3_000;
/** Time between two looks at a disk that only files of apps are kept on. */
const TEND_MS = 60_000;

/** Docker when a daemon answers, else plain processes; says why. Throws when Docker was asked for and is not there. */
export async function chooseRuntime(
  asked: RuntimeKind | undefined,
): Promise<{ readonly kind: RuntimeKind; readonly why: string }> {
  if (asked === "process") return { kind: "process", why: "asked for" };
  const fault = await dockerFault();
  if (fault === null) return { kind: "docker", why: "a Docker daemon answers" };
  if (asked === undefined) {
    const why = `no Docker daemon answers (${fault}); workers run as plain processes without isolation`;
    return { kind: "process", why };
  }
  throw new Error(
    `No Docker daemon answers (${fault}). Start Docker, or set DOCKER_HOST, or choose --runtime process.`,
  );
}

export type RuntimeSettings = Pick<
  DockerRuntimeOptions,
  "networkName" | "allowedNetworks" | "isOpenNetworkAllowed" | "allowedRegistries"
> & {
  readonly hostId: string;
  readonly stateDir: string;
  readonly hasRealGpus: boolean;
  /** The NVIDIA Container Toolkit of this host would load what a container names. */
  readonly clearsPreloads: boolean;
  /** Of plain processes; see ProcessRuntimeOptions. */
  readonly pythonPackage: string | undefined;
  readonly volumes: Volumes;
  readonly log: AgentLog;
  /** Free disk below which images and files of apps that nobody uses are removed. */
  readonly diskReserveBytes: number;
  /** The state directory is on the disk that images are on. */
  readonly isStateBesideImages: boolean;
};

export function createRuntime(kind: RuntimeKind, settings: RuntimeSettings): Runtime {
  const {
    stateDir,
    diskReserveBytes: reserveBytes,
    isStateBesideImages,
    pythonPackage,
    ...docker
  } = settings;
  if (kind === "docker") {
    const room = isStateBesideImages ? undefined : roomOf(stateDir, reserveBytes);
    return new DockerRuntime({
      ...docker,
      images: { reserveBytes },
      artifacts: { stateDirectory: stateDir, ...(room && { room }) },
    });
  }
  const { hasRealGpus, volumes, log } = settings;
  const room = roomOf(stateDir, reserveBytes);
  return new ProcessRuntime({ stateDirectory: stateDir, hasRealGpus, pythonPackage, volumes, log, room });
}

function roomOf(directory: string, reserveBytes: number): DiskRoom {
  return new DiskRoom({ freeBytes: () => freeBytesOf(directory), reserveBytes, tendMs: TEND_MS });
}

/** Why no daemon answers; null when one does. */
async function dockerFault(): Promise<string | null> {
  try {
    await new Dockerode({ timeout: PING_LIMIT_MS }).ping();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

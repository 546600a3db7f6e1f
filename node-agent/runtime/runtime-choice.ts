import Dockerode from "dockerode";
import type { AgentLog } from "../log.ts";
import type { Volumes } from "../volumes/volumes.ts";
import { DockerRuntime, type DockerRuntimeOptions } from "./docker-runtime.ts";
import { ProcessRuntime } from "./process-runtime.ts";
import type { Runtime } from "./runtime.ts";

export type RuntimeKind = Runtime["kind"];

const PING_LIMIT_MS = 3_000;

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
  "networkName" | "allowedNetworks" | "isOpenNetworkAllowed"
> & {
  readonly hostId: string;
  readonly stateDir: string;
  readonly hasRealGpus: boolean;
  readonly volumes: Volumes;
  readonly log: AgentLog;
  /** Free disk below which images that nobody uses are removed. */
  readonly diskReserveBytes: number;
};

export function createRuntime(kind: RuntimeKind, settings: RuntimeSettings): Runtime {
  const { stateDir, diskReserveBytes, ...docker } = settings;
  if (kind === "docker") return new DockerRuntime({ ...docker, images: { reserveBytes: diskReserveBytes } });
  const { hasRealGpus, volumes } = settings;
  return new ProcessRuntime({ stateDirectory: stateDir, hasRealGpus, volumes });
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

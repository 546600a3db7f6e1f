import Dockerode from "dockerode";
import type { Inventory } from "../src/contract/agent.ts";
import { DockerRuntime } from "./runtime/docker-runtime.ts";
import { ProcessRuntime } from "./runtime/process-runtime.ts";
import type { Runtime } from "./runtime/runtime.ts";

export type RuntimeKind = Inventory["runtime"];

const PING_MS = 5_000;

/** Whether a Docker daemon answers; if not, why. */
export async function askDocker(): Promise<
  { readonly answers: true } | { readonly answers: false; readonly why: string }
> {
  try {
    await new Dockerode({ timeout: PING_MS }).ping();
    return { answers: true };
  } catch (error) {
    return { answers: false, why: error instanceof Error ? error.message : String(error) };
  }
}

export function createRuntime(
  kind: RuntimeKind,
  settings: { readonly hostId: string; readonly stateDir: string; readonly hasRealGpus: boolean },
): Runtime {
  const { hostId, stateDir, hasRealGpus } = settings;
  if (kind === "docker") return new DockerRuntime({ hostId, hasRealGpus });
  return new ProcessRuntime({ stateDirectory: stateDir, hasRealGpus });
}

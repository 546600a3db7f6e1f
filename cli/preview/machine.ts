import { availableParallelism } from "node:os";
import type Dockerode from "dockerode";
import { readGpus } from "../../node-agent/gpu/nvidia-smi.ts";
import type { Gpu } from "../../src/contract/agent/agent.ts";

/** What artifacts are built for. */
const ARTIFACT_PLATFORM = "linux/amd64";

/** What Docker's machine has for containers. */
export type Machine = {
  /** Those that containers can be given; those of a preview share them. */
  readonly gpus: readonly Gpu[];
  readonly cpuCount: number;
  /** Of containers that run an artifact; undefined where it is Docker's own. */
  readonly platform: string | undefined;
};

export async function readMachine(docker: Dockerode): Promise<Machine> {
  const { Runtimes = {}, NCPU, Architecture } = (await docker.info()) as DockerInfo;
  const reading = Object.hasOwn(Runtimes, "nvidia") ? await readGpus() : undefined;
  return {
    gpus: reading?.kind === "found" ? reading.gpus : [],
    cpuCount: NCPU ?? availableParallelism(),
    platform: Architecture === "x86_64" ? undefined : ARTIFACT_PLATFORM,
  };
}

type DockerInfo = {
  readonly Runtimes?: Readonly<Record<string, unknown>>;
  readonly NCPU?: number;
  readonly Architecture?: string;
};

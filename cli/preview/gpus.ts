import { availableParallelism } from "node:os";
import type Dockerode from "dockerode";
import { readGpus } from "../../node-agent/gpu/nvidia-smi.ts";
import type { Gpu } from "../../src/contract/agent.ts";

/** The GPUs of this computer, where Docker can give them to containers; those of a preview share them. */
export async function usableGpus(
  docker: Dockerode,
): Promise<{ readonly gpus: readonly Gpu[]; readonly cpuCount: number }> {
  const info = (await docker.info()) as { readonly Runtimes?: object; readonly NCPU?: number };
  const cpuCount = info.NCPU ?? availableParallelism();
  if (!Object.hasOwn(info.Runtimes ?? {}, "nvidia")) return { gpus: [], cpuCount };
  const reading = await readGpus();
  return { gpus: reading.kind === "found" ? reading.gpus : [], cpuCount };
}

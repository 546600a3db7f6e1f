/**
 * Ends workers that take more GPU memory than they have declared, so that those beside them on the GPU do not fail.
 *
 * G1  Only containers that declare memory are watched, those of an earlier agent process included; while there are none,
 *     nothing is read.
 * G2  A worker may have 5 % more than it has declared, and 256 MiB at least: what CUDA itself takes differs by driver.
 * G3  What a reading does not show counts as nothing, and a failed reading ends nobody.
 */
import { readFile } from "node:fs/promises";
import type Dockerode from "dockerode";
import type { AgentLog } from "../../core/log.ts";
import { type GpuProcess, readGpuProcesses } from "../../gpu/gpu-processes.ts";
import { gpuMemoryMbOfLabels, ownerOfLabels } from "./container-options.ts";
import { ContainerWatch } from "./container-watch.ts";

const CHECK_MS = 5_000;
const TOLERANCE = 0.05;
const TOLERANCE_MIN_MB = 256;

const BYTES_PER_MIB = 2 ** 20;

export type GpuMemoryWatchOptions = {
  readonly intervalMs?: number | undefined;
  readonly readProcesses?: (() => Promise<readonly GpuProcess[]>) | undefined;
  readonly log?: AgentLog | undefined;
};

export class GpuMemoryWatch {
  readonly #options: GpuMemoryWatchOptions;
  readonly #watch: ContainerWatch;

  constructor(docker: Dockerode, hostId: string, options: GpuMemoryWatchOptions) {
    this.#options = options;
    this.#watch = new ContainerWatch(docker, hostId, {
      intervalMs: options.intervalMs ?? CHECK_MS,
      look: (containers) => this.#check(containers),
      onFailure: (error) => options.log?.warn("gpu_memory_watch_failed", { reason: String(error) }),
    });
  }

  /** Why the agent ended a container; undefined when it was not for its GPU memory. */
  reasonOf(containerId: string): string | undefined {
    return this.#watch.reasonOf(containerId);
  }

  /** Watches until `stop`; more than one call does no harm. */
  start(): void {
    this.#watch.start();
  }

  stop(): void {
    this.#watch.stop();
  }

  async #check(containers: readonly Dockerode.ContainerInfo[]): Promise<void> {
    const watched = containers.filter(
      ({ State, Labels }) => (State === "running" || State === "paused") && gpuMemoryMbOfLabels(Labels) > 0,
    );
    if (watched.length === 0) return;
    const used = await this.#readUse();
    for (const container of watched) {
      if (this.#watch.isStopped) return;
      const usedMb = used.get(container.Id) ?? 0;
      const declaredMb = gpuMemoryMbOfLabels(container.Labels);
      if (usedMb > allowedMb(declaredMb)) await this.#end(container, overGpuMemory(usedMb, declaredMb));
    }
  }

  /** MiB by container. */
  async #readUse(): Promise<ReadonlyMap<string, number>> {
    const { readProcesses = readGpuProcesses } = this.#options;
    const used = new Map<string, number>();
    for (const { pid, memoryMb } of await readProcesses()) {
      const id = await containerOfProcess(pid);
      if (id !== undefined) used.set(id, (used.get(id) ?? 0) + memoryMb);
    }
    return used;
  }

  async #end({ Id, Labels }: Dockerode.ContainerInfo, reason: string): Promise<void> {
    const { workerId = "" } = ownerOfLabels(Labels) ?? {};
    this.#options.log?.warn("worker_over_gpu_memory", { workerId, reason });
    await this.#watch.end(Id, reason);
  }
}

/** G2 */
export function allowedMb(declaredMb: number): number {
  return declaredMb + Math.max(TOLERANCE_MIN_MB, declaredMb * TOLERANCE);
}

export function overGpuMemory(usedMb: number, declaredMb: number): string {
  const gigabytes = (mebibytes: number) => (mebibytes * BYTES_PER_MIB) / 1e9;
  const used = Math.round(gigabytes(usedMb) * 10) / 10;
  return `was ended: it used ${used} GB of GPU memory, gpuMemoryGb is ${Math.round(gigabytes(declaredMb))} (raise it, or let the worker take less)`;
}

/** The id of the container that a process of this machine runs in; undefined for another process, and for one that has ended. */
async function containerOfProcess(pid: number): Promise<string | undefined> {
  return containerOfCgroups(await readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => ""));
}

/** The paths of a process have the id of its container, with cgroups of either version and driver. */
export function containerOfCgroups(text: string): string | undefined {
  return /[/-]([0-9a-f]{64})(?:\.scope)?(?:\/|$)/m.exec(text)?.[1];
}

/** The containers of one host's workers, from their creation to their removal. */
import type Dockerode from "dockerode";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import { ignoreFailure } from "../../../src/std/errors.ts";
import { HOST_LABEL, ignoring, inspect, listContainers } from "../daemon/docker-calls.ts";
import { isConflict, isGoneOrConflict, isNotFound } from "../daemon/docker-errors.ts";
import { lastLinesOf, type OutputReader } from "../interface/output.ts";
import type { ContainerUse, FoundWorker } from "../interface/runtime.ts";
import { containerName, ownerOfLabels } from "./container-options.ts";
import { ContainerOutput, sinceOf, textOfLog } from "./container-output.ts";

/** Pause before a log stream that broke off is opened again. */
const OUTPUT_RETRY_MS = 200;
/** How long a removal by another call is awaited before this one tries again. */
const REMOVAL_WAIT_MS = 1_000;

/** Docker names what files take of the memory, and could be given up, by the version of the system's groups. */
const statsSchema = z.object({
  read: z.iso.datetime(),
  cpu_stats: z.object({ cpu_usage: z.object({ total_usage: z.number() }) }),
  memory_stats: z.object({
    usage: z.number(),
    stats: z.object({ inactive_file: z.number(), total_inactive_file: z.number() }).partial().default({}),
  }),
});
const NANOSECONDS_PER_MS = 1e6;

export class WorkerContainers {
  readonly #docker: Dockerode;
  readonly #streams: Dockerode;
  readonly #hostId: string;
  /** Workers whose containers were told to end, until they are removed. */
  readonly #stopping = new Set<string>();

  /** `docker` is for short calls, `streams` for those without a time limit. */
  constructor(docker: Dockerode, streams: Dockerode, hostId: string) {
    this.#docker = docker;
    this.#streams = streams;
    this.#hostId = hostId;
  }

  get(workerId: string): Dockerode.Container {
    return this.#docker.getContainer(containerName(workerId));
  }

  /** The worker's container; null when it does not exist or belongs to another host's agent. */
  async find(workerId: string): Promise<Dockerode.ContainerInspectInfo | null> {
    const found = await inspect(this.get(workerId));
    return found?.Config.Labels[HOST_LABEL] === this.#hostId ? found : null;
  }

  all(): Promise<Dockerode.ContainerInfo[]> {
    return listContainers(this.#docker, this.#hostId);
  }

  async list(): Promise<readonly FoundWorker[]> {
    const containers = (await this.all()).filter(({ State }) => State !== "removing");
    const found = await Promise.all(containers.map((container) => this.#foundWorker(container)));
    return found.filter((worker) => worker !== null);
  }

  async #foundWorker(container: Dockerode.ContainerInfo): Promise<FoundWorker | null> {
    const owner = ownerOfLabels(container.Labels);
    if (owner === null) return null;
    const state = await inspect(this.#docker.getContainer(container.Id));
    if (state === null) return null;
    const { Running, Paused, Status, ExitCode } = state.State;
    const hasRun = Status !== "created";
    const exitCode = !Running && hasRun ? ExitCode : null;
    return { ...owner, isRunning: Running, isFrozen: Paused, exitCode };
  }

  /** Throws when it does not run; no-op where it is as requested. */
  async setFrozen(workerId: string, isFrozen: boolean): Promise<void> {
    const found = await this.find(workerId);
    if (!found?.State.Running) throw new Error(`The container of worker ${workerId} does not run.`);
    if (found.State.Paused === isFrozen) return;
    const container = this.get(workerId);
    await (isFrozen ? container.pause() : container.unpause());
  }

  /** Null for one that does not run. */
  async use(workerId: string): Promise<ContainerUse | null> {
    const call = this.get(workerId).stats({ stream: false, "one-shot": true });
    const { data: stats } = statsSchema.safeParse(await ignoring(isGoneOrConflict, call));
    if (!stats) return null;
    const { usage, stats: parts } = stats.memory_stats;
    return {
      at: Date.parse(stats.read),
      cpuMs: stats.cpu_stats.cpu_usage.total_usage / NANOSECONDS_PER_MS,
      memoryBytes: Math.max(0, usage - (parts.total_inactive_file ?? parts.inactive_file ?? 0)),
    };
  }

  // Ending

  /** SIGTERM, then SIGKILL after the grace (0: at once). Resolves when it has ended; no-op for an unknown worker. */
  async stop(workerId: string, graceMs: number): Promise<void> {
    if ((await this.find(workerId)) === null) return;
    this.#stopping.add(workerId);
    if (graceMs > 0) {
      await this.#signal(workerId, "SIGTERM");
      if (await this.#endsWithin(workerId, graceMs)) return;
    }
    await this.#signal(workerId, "SIGKILL");
    await ignoring(isNotFound, this.get(workerId).wait());
  }

  /** Whether its container was told to end. */
  isStopping(workerId: string): boolean {
    return this.#stopping.has(workerId);
  }

  async #signal(workerId: string, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    await ignoring(isGoneOrConflict, this.get(workerId).kill({ signal }));
  }

  async #endsWithin(workerId: string, graceMs: number): Promise<boolean> {
    const abortSignal = AbortSignal.timeout(graceMs);
    try {
      const container = this.#streams.getContainer(containerName(workerId));
      await container.wait({ condition: "not-running", abortSignal });
      return true;
    } catch (error) {
      if (abortSignal.aborted) return false;
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  /** No-op for an unknown worker. */
  async remove(workerId: string): Promise<void> {
    if (await this.find(workerId)) await this.removeFound(workerId);
  }

  async removeUnlessRunning(workerId: string): Promise<void> {
    const found = await this.find(workerId).catch(() => null);
    if (found && !found.State.Running) await this.removeFound(workerId);
  }

  /** Tries again while another call removes the container: a wait that begins just after a removal never ends. */
  async removeFound(workerId: string): Promise<void> {
    while (!(await this.#tryRemove(workerId))) {
      const abortSignal = AbortSignal.timeout(REMOVAL_WAIT_MS);
      const container = this.#streams.getContainer(containerName(workerId));
      const isOver = (error: unknown) => abortSignal.aborted || isNotFound(error);
      await ignoring(isOver, container.wait({ condition: "removed", abortSignal }));
    }
    this.#stopping.delete(workerId);
  }

  /** Removes the container; false when another call does so at this moment. */
  async #tryRemove(workerId: string): Promise<boolean> {
    try {
      await this.get(workerId).remove({ force: true, v: true });
      return true;
    } catch (error) {
      if (isNotFound(error)) return true;
      if (isConflict(error)) return false;
      throw error;
    }
  }

  // Output

  /** Oldest first. */
  async lastLines(workerId: string, count: number): Promise<readonly string[]> {
    if ((await this.find(workerId)) === null || count <= 0) return [];
    const log = this.get(workerId).logs({ stdout: true, stderr: true, tail: count, follow: false });
    const bytes = await ignoring(isGoneOrConflict, log);
    return bytes ? lastLinesOf(textOfLog(bytes), count) : [];
  }

  /** Passes on what it prints; resolves when it has ended and all was passed on, or at the signal. */
  async output(workerId: string, reader: OutputReader): Promise<void> {
    const { signal } = reader;
    const output = new ContainerOutput(reader);
    for (;;) {
      const wasRunning = (await this.find(workerId).catch(() => undefined))?.State.Running !== false;
      const isWhole = await this.#readOutput(workerId, output, signal);
      // The stream of a container may end before its last lines: only one that began after the end has all.
      if (signal.aborted || isWhole === "gone" || (isWhole && !wasRunning)) return;
      output.reopened();
      if (!isWhole) await delay(OUTPUT_RETRY_MS, undefined, { signal, ref: false }).catch(ignoreFailure);
    }
  }

  /** Whether the stream came to its end. */
  async #readOutput(
    workerId: string,
    output: ContainerOutput,
    abortSignal: AbortSignal,
  ): Promise<boolean | "gone"> {
    const since = sinceOf(output.position);
    try {
      const stream = await this.#streams.getContainer(containerName(workerId)).logs({
        stdout: true,
        stderr: true,
        timestamps: true,
        follow: true,
        abortSignal,
        ...(since !== undefined && { since }),
      });
      for await (const chunk of stream) output.take(chunk as Buffer);
      return true;
    } catch (error) {
      return isNotFound(error) ? "gone" : false;
    }
  }
}

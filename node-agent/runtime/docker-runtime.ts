import { setTimeout as delay } from "node:timers/promises";
import Dockerode from "dockerode";
import { ContainerExits } from "./container-exits.ts";
import { textOfLog } from "./container-log.ts";
import { ContainerOutput, sinceOf } from "./container-output.ts";
import {
  containerName,
  containerOptions,
  type ContainerSettings,
  HOST_LABEL,
  ownerOfLabels,
} from "./container-options.ts";
import { isConflict, isNotFound, startFailure } from "./docker-errors.ts";
import { DockerNetwork } from "./docker-network.ts";
import { ensureImage } from "./image-pull.ts";
import { lastLinesOf } from "./last-lines.ts";
import type { OutputReader } from "./output.ts";
import type { FoundWorker, PrepareOutcome, Runtime, WorkerExit, WorkerSpec } from "./runtime.ts";
import { Turns } from "./turns.ts";

/** Pause before a log stream that broke off is opened again. */
const OUTPUT_AGAIN_MS = 200;
const NETWORK_NAME = "edgerun";
/** Enough for many model processes with a thread per core each, far below what a fork bomb needs. */
const PIDS_LIMIT = 16_384;

export type DockerRuntimeOptions = {
  /** Only containers that carry this id are seen or touched. */
  readonly hostId: string;
  /** False where GPUs are simulated: no device is asked of Docker then. */
  readonly hasRealGpus: boolean;
  readonly memoryLimitBytes?: number;
  readonly pidsLimit?: number;
  readonly networkName?: string;
  readonly docker?: Dockerode;
};

/** Runs each worker as a Docker container. */
export class DockerRuntime implements Runtime {
  readonly kind = "docker";
  readonly #docker: Dockerode;
  readonly #settings: ContainerSettings;
  readonly #network: DockerNetwork;
  readonly #turns = new Turns();
  readonly #watches = new Set<ContainerExits>();

  constructor(options: DockerRuntimeOptions) {
    this.#docker = options.docker ?? new Dockerode();
    this.#settings = {
      hostId: options.hostId,
      hasRealGpus: options.hasRealGpus,
      networkName: options.networkName ?? NETWORK_NAME,
      memoryLimitBytes: options.memoryLimitBytes ?? null,
      pidsLimit: options.pidsLimit ?? PIDS_LIMIT,
    };
    this.#network = new DockerNetwork(this.#docker, this.#settings.networkName);
  }

  agentAddress(): Promise<string> {
    return this.#network.gatewayAddress();
  }

  prepare(spec: WorkerSpec, onProgress: (detail: string) => void): Promise<PrepareOutcome> {
    return ensureImage(this.#docker, spec, onProgress);
  }

  // Starting

  start(spec: WorkerSpec): Promise<void> {
    return this.#turns.take(spec.workerId, () => this.#startIfAbsent(spec));
  }

  async #startIfAbsent(spec: WorkerSpec): Promise<void> {
    const options = containerOptions(spec, this.#settings);
    try {
      const found = await this.#inspectOwn(spec.workerId);
      if (found?.State.Running) return;
      if (found) await this.#removeContainer(spec.workerId);
      await this.#network.ensure();
      await this.#docker.createContainer(options);
      await this.#container(spec.workerId).start();
    } catch (error) {
      await this.#removeOwnIfNotRunning(spec.workerId);
      throw new Error(startFailure(spec.workerId, spec.imageName, error), { cause: error });
    }
  }

  async #removeOwnIfNotRunning(workerId: string): Promise<void> {
    const found = await this.#inspectOwn(workerId).catch(() => null);
    if (found && !found.State.Running) await this.#removeContainer(workerId);
  }

  // Stopping

  async stop(workerId: string, graceMs: number): Promise<void> {
    await this.#turns.passed(workerId); // a start under way must not outlive this call
    if ((await this.#inspectOwn(workerId)) === null) return;
    if (graceMs > 0) {
      await this.#signal(workerId, "SIGTERM");
      if (await this.#endsWithin(workerId, graceMs)) return;
    }
    await this.#signal(workerId, "SIGKILL");
    await ignoring(isNotFound, this.#container(workerId).wait());
  }

  async #signal(workerId: string, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    await ignoring(isGoneOrConflict, this.#container(workerId).kill({ signal }));
  }

  async #endsWithin(workerId: string, graceMs: number): Promise<boolean> {
    const abortSignal = AbortSignal.timeout(graceMs);
    try {
      await this.#container(workerId).wait({ condition: "not-running", abortSignal });
      return true;
    } catch (error) {
      if (abortSignal.aborted) return false;
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  remove(workerId: string): Promise<void> {
    return this.#turns.take(workerId, async () => {
      if (await this.#inspectOwn(workerId)) await this.#removeContainer(workerId);
    });
  }

  async #removeContainer(workerId: string): Promise<void> {
    const container = this.#container(workerId);
    try {
      await container.remove({ force: true, v: true });
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error)) throw error;
      // Somebody else removes it at this moment.
      await ignoring(isNotFound, container.wait({ condition: "removed" }));
    }
  }

  // Looking

  async list(): Promise<readonly FoundWorker[]> {
    const filters = { label: [`${HOST_LABEL}=${this.#settings.hostId}`] };
    const containers = await this.#docker.listContainers({ all: true, filters });
    const found = await Promise.all(
      containers.filter(({ State }) => State !== "removing").map((container) => this.#foundWorker(container)),
    );
    return found.filter((worker) => worker !== null);
  }

  async #foundWorker(container: Dockerode.ContainerInfo): Promise<FoundWorker | null> {
    const owner = ownerOfLabels(container.Labels);
    if (owner === null) return null;
    const state = await inspect(this.#docker.getContainer(container.Id));
    if (state === null) return null;
    const { Running, Status, ExitCode } = state.State;
    const hasRun = Status !== "created";
    return { ...owner, isRunning: Running, exitCode: !Running && hasRun ? ExitCode : null };
  }

  async lastLines(workerId: string, count: number): Promise<readonly string[]> {
    if ((await this.#inspectOwn(workerId)) === null || count <= 0) return [];
    const log = this.#container(workerId).logs({ stdout: true, stderr: true, tail: count, follow: false });
    const bytes = await ignoring(isGoneOrConflict, log);
    return bytes ? lastLinesOf(textOfLog(bytes), count) : [];
  }

  async output(workerId: string, reader: OutputReader): Promise<void> {
    const output = new ContainerOutput(reader);
    for (;;) {
      const wasRunning = (await this.#inspectOwn(workerId).catch(() => undefined))?.State.Running !== false;
      const isWhole = await this.#readOutput(workerId, output, reader.signal);
      // The stream of a container may end before its last lines: only one that began after the end has all.
      if (reader.signal.aborted || isWhole === "gone" || (isWhole && !wasRunning)) return;
      output.reopened();
      if (!isWhole)
        await delay(OUTPUT_AGAIN_MS, undefined, { signal: reader.signal, ref: false }).catch(() => {});
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
      const stream = await this.#container(workerId).logs({
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

  /** Also reports workers that ended before and whose containers are still there, once per watch. */
  watch(onExit: (exit: WorkerExit) => void): () => void {
    const watch = new ContainerExits(this.#docker, this.#settings.hostId, onExit);
    this.#watches.add(watch);
    void watch.run();
    return () => {
      watch.stop();
      this.#watches.delete(watch);
    };
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.stop();
    this.#watches.clear();
  }

  #container(workerId: string): Dockerode.Container {
    return this.#docker.getContainer(containerName(workerId));
  }

  /** The worker's container, unless there is none or it belongs to another host's agent. */
  async #inspectOwn(workerId: string): Promise<Dockerode.ContainerInspectInfo | null> {
    const found = await inspect(this.#container(workerId));
    return found?.Config.Labels[HOST_LABEL] === this.#settings.hostId ? found : null;
  }
}

function isGoneOrConflict(error: unknown): boolean {
  return isNotFound(error) || isConflict(error);
}

async function inspect(container: Dockerode.Container): Promise<Dockerode.ContainerInspectInfo | null> {
  return (await ignoring(isNotFound, container.inspect())) ?? null;
}

/** Awaits a call, and takes a refusal of the expected kind for no answer. */
async function ignoring<T>(
  isExpected: (error: unknown) => boolean,
  call: Promise<T>,
): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

/** Looks at the containers of this host again and again, those of an earlier agent process included, and can end them. */
import { setTimeout as delay } from "node:timers/promises";
import type Dockerode from "dockerode";
import { ignoreFailure } from "../../../src/std/errors.ts";
import { ignoring, listContainers } from "../daemon/docker-calls.ts";
import { isConflict, isNotFound } from "../daemon/docker-errors.ts";

export type ContainerWatchOptions = {
  readonly intervalMs: number;
  /** Looks at the containers that there are. */
  readonly look: (containers: readonly Dockerode.ContainerInfo[]) => Promise<void>;
  /** A look has failed; the next one may do better. */
  readonly onFailure: (error: unknown) => void;
};

export class ContainerWatch {
  readonly #docker: Dockerode;
  readonly #hostId: string;
  readonly #options: ContainerWatchOptions;
  readonly #abort = new AbortController();
  readonly #reasons = new Map<string, string>();
  #isRunning = false;

  constructor(docker: Dockerode, hostId: string, options: ContainerWatchOptions) {
    this.#docker = docker;
    this.#hostId = hostId;
    this.#options = options;
  }

  /** Why a container was ended; undefined when it was not. */
  reasonOf(containerId: string): string | undefined {
    return this.#reasons.get(containerId);
  }

  /** Watches until `stop`; more than one call does no harm. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  stop(): void {
    this.#abort.abort();
  }

  get isStopped(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Kills a container. A look that finds it alive may do so again. */
  async end(containerId: string, reason: string): Promise<void> {
    this.#reasons.set(containerId, reason);
    const killing = this.#docker.getContainer(containerId).kill({ signal: "SIGKILL" });
    await ignoring((error) => isConflict(error) || isNotFound(error), killing); // it has just ended
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      await this.#look().catch((error: unknown) => {
        if (!signal.aborted) this.#options.onFailure(error);
      });
      await delay(this.#options.intervalMs, undefined, { signal, ref: false }).catch(ignoreFailure);
    }
  }

  async #look(): Promise<void> {
    const containers = await listContainers(this.#docker, this.#hostId);
    const present = new Set(containers.map(({ Id }) => Id));
    for (const id of this.#reasons.keys()) if (!present.has(id)) this.#reasons.delete(id);
    await this.#options.look(containers);
  }
}

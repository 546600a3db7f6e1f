/**
 * Exits of a host's containers, from Docker's event stream.
 *
 * E1  Events are subscribed to before the containers are listed, so nothing falls in between.
 * E2  After a broken stream the list is taken again: what ended in the gap is found there.
 * E3  A container is reported once, by its id: a restarted worker has a new container.
 */
import { setTimeout as delay } from "node:timers/promises";
import type Dockerode from "dockerode";
import { ignoreFailure } from "../../../src/std/errors.ts";
import { retryDelayMs } from "../../../src/std/waiting.ts";
import * as z from "zod";
import { ownerOfLabels } from "./container-options.ts";
import { isNotFound } from "../daemon/docker-errors.ts";
import { type Ending, exitReason } from "../interface/exit-reason.ts";
import { jsonLines, listContainers, ofHost } from "../daemon/docker-calls.ts";
import type { WorkerExit } from "../interface/runtime.ts";

const RECONNECT = { baseMs: 100, capMs: 10_000 };
const REPORTED_MAX = 10_000;
/** Docker hears that memory ran out and that a container ended in either order, on a busy host up to so far apart. */
const OUT_OF_MEMORY_NEWS = { looks: 12, pauseMs: 250 };
const KILLED = 137;

const ENDED_STATES = new Set(["exited", "dead", "removing"]);

const eventSchema = z.object({
  Action: z.string(),
  Actor: z.object({ ID: z.string(), Attributes: z.record(z.string(), z.string()) }),
});
type ContainerEvent = z.infer<typeof eventSchema>;

export class ContainerExits {
  readonly #docker: Dockerode;
  readonly #hostId: string;
  readonly #onExit: (exit: WorkerExit) => void;
  /** Why the agent itself ended a container. */
  readonly #reasonOf: (containerId: string) => string | undefined;
  /** Whether the agent is ending the worker's container. */
  readonly #isStopping: (workerId: string) => boolean;
  readonly #abort = new AbortController();
  readonly #liveByContainer = new Map<string, string>();
  readonly #reportedContainers = new Set<string>();
  /** Failures of the stream, one after the other. */
  #failures = 0;

  constructor(
    docker: Dockerode,
    hostId: string,
    onExit: (exit: WorkerExit) => void,
    reasonOf: (containerId: string) => string | undefined,
    isStopping: (workerId: string) => boolean,
  ) {
    this.#docker = docker;
    this.#hostId = hostId;
    this.#onExit = onExit;
    this.#reasonOf = reasonOf;
    this.#isStopping = isStopping;
  }

  /** Watches until `stop`; a daemon that does not answer is tried again with back-off. */
  async run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      await this.#follow().catch(ignoreFailure); // after any error of the stream the next round lists again
      if (signal.aborted) return;
      this.#failures += 1;
      const delayMs = retryDelayMs(this.#failures, RECONNECT);
      await delay(delayMs, undefined, { signal, ref: false }).catch(ignoreFailure);
    }
  }

  stop(): void {
    this.#abort.abort();
  }

  async #follow(): Promise<void> {
    const connection = new AbortController();
    try {
      const stream = await this.#docker.getEvents({
        filters: { type: ["container"], event: ["start", "die"], ...ofHost(this.#hostId) },
        abortSignal: AbortSignal.any([this.#abort.signal, connection.signal]),
      });
      await this.#takeList(); // E1, E2
      this.#failures = 0;
      for await (const line of jsonLines(stream)) await this.#takeEvent(eventSchema.parse(line));
    } finally {
      connection.abort();
    }
  }

  async #takeList(): Promise<void> {
    const containers = await listContainers(this.#docker, this.#hostId);
    const present = new Set(containers.map((container) => container.Id));
    for (const container of containers) {
      const workerId = ownerOfLabels(container.Labels)?.workerId;
      if (workerId === undefined) continue;
      if (ENDED_STATES.has(container.State)) {
        await this.#report(container.Id, workerId, null);
      } else this.#liveByContainer.set(container.Id, workerId);
    }
    for (const [containerId, workerId] of this.#liveByContainer) {
      if (!present.has(containerId)) await this.#report(containerId, workerId, null);
    }
  }

  async #takeEvent({ Action, Actor }: ContainerEvent): Promise<void> {
    const workerId = ownerOfLabels(Actor.Attributes)?.workerId;
    if (workerId === undefined) return;
    if (Action === "start") this.#liveByContainer.set(Actor.ID, workerId);
    else await this.#report(Actor.ID, workerId, Number(Actor.Attributes["exitCode"] ?? Number.NaN));
  }

  /** `knownExitCode` is reported when the container has already been removed. */
  async #report(containerId: string, workerId: string, knownExitCode: number | null): Promise<void> {
    if (this.#reportedContainers.has(containerId)) return; // E3
    const isExplained = this.#reasonOf(containerId) !== undefined || this.#isStopping(workerId);
    const first = await this.#endingOf(containerId, knownExitCode);
    const ending = isExplained ? first : await this.#explained(first, containerId);
    if (this.#abort.signal.aborted) return;
    this.#liveByContainer.delete(containerId);
    this.#remember(containerId);
    const reason = this.#reasonOf(containerId) ?? exitReason(ending);
    const exit = { workerId, exitCode: ending.exitCode, reason };
    queueMicrotask(() => this.#onExit(exit)); // outside of the stream's error handling, so that a bug there is seen
  }

  /** One that was killed may have run out of memory without Docker saying so yet. */
  async #explained(ending: Ending, containerId: string): Promise<Ending> {
    const { exitCode, isOutOfMemory, memoryLimitBytes = 0 } = ending;
    if (exitCode !== KILLED || isOutOfMemory || memoryLimitBytes === 0) return ending;
    const { signal } = this.#abort;
    for (let looks = 0; looks < OUT_OF_MEMORY_NEWS.looks && !signal.aborted; looks += 1) {
      await delay(OUT_OF_MEMORY_NEWS.pauseMs, undefined, { signal, ref: false }).catch(ignoreFailure);
      const later = await this.#endingOf(containerId, exitCode);
      if (later.isRemoved) return ending;
      if (later.isOutOfMemory) return later;
    }
    return ending;
  }

  async #endingOf(containerId: string, knownExitCode: number | null): Promise<Ending> {
    try {
      const { State, HostConfig } = await this.#docker.getContainer(containerId).inspect();
      const memoryLimitBytes = HostConfig.Memory ?? 0;
      return { exitCode: State.ExitCode, isOutOfMemory: State.OOMKilled, memoryLimitBytes };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const isKnown = knownExitCode !== null && Number.isFinite(knownExitCode);
      return { exitCode: isKnown ? knownExitCode : null, isOutOfMemory: false, isRemoved: true };
    }
  }

  #remember(containerId: string): void {
    this.#reportedContainers.add(containerId);
    const [oldest] = this.#reportedContainers;
    if (oldest !== undefined && this.#reportedContainers.size > REPORTED_MAX) {
      this.#reportedContainers.delete(oldest);
    }
  }
}

/** Containers that an earlier agent left and no worker takes over: they are removed, however long that takes. */
import { setTimeout as delay } from "node:timers/promises";
import { ignoreFailure, errorMessage } from "../../src/std/errors.ts";
import { retryDelayMs } from "../../src/std/waiting.ts";
import type { AgentLog } from "../core/log.ts";
import type { Runtime } from "../runtime/interface/runtime.ts";

export type UnclaimedContainer = {
  readonly workerId: string;
  readonly isRunning: boolean;
  /** Null when no record says which it has: it may have any. */
  readonly gpuIndexes: readonly number[] | null;
};

export type UnclaimedOptions = {
  readonly runtime: Pick<Runtime, "remove">;
  readonly log: AgentLog;
  readonly retry: { readonly baseMs: number; readonly capMs: number };
  readonly signal: AbortSignal;
  /** One that has been removed holds its GPUs no more. */
  readonly onRemoved: () => void;
};

export class UnclaimedContainers {
  readonly #options: UnclaimedOptions;
  readonly #left = new Map<string, UnclaimedContainer>();

  constructor(options: UnclaimedOptions) {
    this.#options = options;
  }

  /** Tries once to remove each of them; goes on in the background with those that the runtime does not remove. */
  async discard(containers: readonly UnclaimedContainer[]): Promise<void> {
    for (const container of containers) this.#left.set(container.workerId, container);
    await Promise.all(containers.map(({ workerId }) => this.#remove(workerId)));
    if (this.#left.size > 0) void this.#discardLater();
  }

  /** One that still runs and has, or may have, one of the GPUs. */
  holderOf(gpuIndexes: readonly number[]): string | undefined {
    const holds = ({ isRunning, gpuIndexes: own }: UnclaimedContainer): boolean =>
      isRunning && gpuIndexes.some((index) => own === null || own.includes(index));
    return [...this.#left.values()].find(holds)?.workerId;
  }

  async #discardLater(): Promise<void> {
    const { retry, signal } = this.#options;
    for (let failures = 1; this.#left.size > 0 && !signal.aborted; failures += 1) {
      await delay(retryDelayMs(failures, retry), undefined, { signal }).catch(ignoreFailure);
      if (signal.aborted) return;
      await Promise.all([...this.#left.keys()].map((workerId) => this.#remove(workerId)));
    }
  }

  async #remove(workerId: string): Promise<void> {
    const { runtime, log, onRemoved } = this.#options;
    try {
      await runtime.remove(workerId);
    } catch (error) {
      log.error("worker_remove_failed", { workerId, reason: errorMessage(error) });
      return;
    }
    this.#left.delete(workerId);
    log.info("worker_discarded", { workerId });
    onRemoved();
  }
}

import type { PodReport } from "../../../src/contract/agent/agent.ts";
import type { PodStore } from "../../pods/pod-store.ts";
import type { Timing } from "../../core/timing.ts";
import { IdleCalls } from "../../worker-server/poll.ts";
import type { ModeFacts, WorkerContext } from "../lifecycle/mode.ts";

export type PodModeOptions = { readonly pods: PodStore; readonly timing: Timing };

/** Runs a pod: its container takes no jobs and no requests, and is ready as soon as it runs. */
export class PodMode {
  readonly kind = "pod";
  readonly calls: IdleCalls;
  readonly #worker: WorkerContext;
  readonly #pods: PodStore;

  constructor(worker: WorkerContext, { pods, timing }: PodModeOptions) {
    this.#worker = worker;
    this.#pods = pods;
    this.calls = new IdleCalls(() => timing.pollHoldMs);
  }

  /** What its container shows; undefined while that does not run. */
  report(): PodReport | undefined {
    const { isAlive, container, outline } = this.#worker;
    return isAlive() && container.wasReady ? { ports: [...this.#pods.portsOf(outline.workerId)] } : undefined;
  }

  facts(): ModeFacts {
    return {
      isRefreshing: false,
      needsHardStop: false,
      isIdle: true,
      silentForMs: 0,
      silenceLimitMs: Number.POSITIVE_INFINITY,
      hasLostResults: false,
      unhealthyReason: null,
    };
  }

  failureOf(): null {
    return null;
  }

  // Events of the worker's life

  /** Its container runs, which is all that can be known. */
  started(): void {
    if (!this.#worker.container.wasReady) this.#worker.markReady("runs");
  }

  reset(): void {}

  halt(): void {
    this.calls.endPolls();
  }

  end(): void {
    this.halt();
  }

  close(): void {
    this.halt();
  }
}

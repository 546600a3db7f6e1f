/**
 * Standby: a worker that shall not run now, but whose container is kept frozen, so that it is there again at once.
 *
 * B1  Only a container that was ready and has no job and no request is frozen. A request that does not end is turned
 *     out after a time: a WebSocket may be open for ever.
 * B2  Time passes for a frozen process as for any other: a poll that it had open may have timed out meanwhile, and
 *     what is answered to it may never be read. So no such poll gets a job; all are answered with nothing before the
 *     container goes on.
 * B3  Its token, address and id stay the same.
 */
import type { AgentLog } from "../../log.ts";
import type { Container } from "../container.ts";
import type { WorkerMode } from "../mode.ts";

export type StandbyOptions = {
  readonly workerId: string;
  readonly container: Container;
  readonly mode: WorkerMode;
  readonly log: AgentLog;
};

export class Standby {
  readonly #options: StandbyOptions;
  #isRequested: boolean;
  #error = "";

  /** One that was frozen by an earlier agent process stays so until the edge has spoken. */
  constructor(options: StandbyOptions) {
    this.#options = options;
    this.#isRequested = options.container.isFrozen;
  }

  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** The worker gets no jobs. */
  get isOn(): boolean {
    return this.#isRequested || this.#options.container.isFrozen;
  }

  /** Why the last move failed. */
  get error(): string {
    return this.#error;
  }

  /** The edge has said whether the worker shall run. True when it had not known. */
  setRequested(isRequested: boolean): boolean {
    const isNew = isRequested !== this.#isRequested;
    this.#isRequested = isRequested;
    return isNew;
  }

  /** False when the runtime refuses; the container is then in no state to be relied on. */
  async move(move: "freeze" | "thaw"): Promise<boolean> {
    const { container, mode, log, workerId } = this.#options;
    try {
      if (move === "thaw") mode.halt(); // B2
      else mode.beforeFreeze();
      await container[move]();
      if (move === "thaw") mode.onRunning();
      log.info(move === "thaw" ? "worker_thawed" : "worker_frozen", { workerId });
      return true;
    } catch (error) {
      this.#error = error instanceof Error ? error.message : String(error);
      log.warn("worker_standby_failed", { workerId, reason: this.#error });
      return false;
    }
  }
}

/**
 * Standby: a paused worker, whose container stays frozen so that it is ready again at once.
 *
 * B1  Only a container that was ready and has no job and no request is frozen. Requests that do not end are evicted
 *     after a time: a WebSocket may stay open indefinitely.
 * B2  A poll that was open when the process was frozen may have timed out meanwhile, and its answer may never be
 *     read. So no such poll gets a job: all are answered with nothing before the container is thawed.
 * B3  Its token, address and id stay the same.
 * B4  What clients run in it is ended before it is frozen: later nothing can be ended inside, and after the thaw it would
 *     go on unseen.
 */
import { errorMessage } from "../../../src/std/errors.ts";
import type { AgentLog } from "../../core/log.ts";
import type { Container } from "./container.ts";

export type StandbyOptions = {
  readonly workerId: string;
  readonly container: Container;
  readonly log: AgentLog;
};

export class Standby {
  readonly #options: StandbyOptions;
  #isRequested: boolean;
  #isFreezing = false;
  #error = "";

  /** A container that an earlier agent process has frozen stays so until the edge has answered. */
  constructor(options: StandbyOptions) {
    this.#options = options;
    this.#isRequested = options.container.isFrozen;
  }

  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** The worker gets no jobs. */
  get isOn(): boolean {
    return this.#isRequested || this.isFrozen;
  }

  /** The container is frozen, or about to be. */
  get isFrozen(): boolean {
    return this.#isFreezing || this.#options.container.isFrozen;
  }

  /** Why the last move failed. */
  get error(): string {
    return this.#error;
  }

  /** Takes from the edge whether the worker is paused. True when that is new. */
  setRequested(isRequested: boolean): boolean {
    const isNew = isRequested !== this.#isRequested;
    this.#isRequested = isRequested;
    return isNew;
  }

  /** False when the runtime fails; the state of the container is then unknown. */
  async move(
    move: "freeze" | "thaw",
    { before, after }: { readonly before: () => Promise<void> | void; readonly after: () => void },
  ): Promise<boolean> {
    const { container, log, workerId } = this.#options;
    this.#isFreezing = move === "freeze";
    try {
      await before();
      await container[move]();
      after();
      log.info(move === "thaw" ? "worker_thawed" : "worker_frozen", { workerId });
      return true;
    } catch (error) {
      this.#error = errorMessage(error);
      log.warn("worker_standby_failed", { workerId, reason: this.#error });
      return false;
    } finally {
      this.#isFreezing = false;
    }
  }
}

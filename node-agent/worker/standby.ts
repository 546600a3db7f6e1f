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
import type { AgentLog } from "../log.ts";
import type { Container } from "./container.ts";
import type { Duty } from "./duty.ts";

export type StandbyParts = {
  readonly workerId: string;
  readonly container: Container;
  readonly duty: Duty;
  readonly log: AgentLog;
};

export class Standby {
  readonly #parts: StandbyParts;
  #isWanted: boolean;
  #fault = "";

  /** One that was frozen by an earlier agent process stays so until the edge has spoken. */
  constructor(parts: StandbyParts) {
    this.#parts = parts;
    this.#isWanted = parts.container.isFrozen;
  }

  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** The worker gets no jobs. */
  get isOn(): boolean {
    return this.#isWanted || this.#parts.container.isFrozen;
  }

  /** Why the last move failed. */
  get fault(): string {
    return this.#fault;
  }

  /** The edge has said whether the worker shall run. True when it had not known. */
  want(isWanted: boolean): boolean {
    const isNew = isWanted !== this.#isWanted;
    this.#isWanted = isWanted;
    return isNew;
  }

  /** False when the runtime refuses; the container is then in no state to be relied on. */
  async move(move: "freeze" | "thaw"): Promise<boolean> {
    const { container, duty, log, workerId } = this.#parts;
    try {
      if (move === "thaw") duty.halt(); // B2
      else duty.freezing();
      await container[move]();
      if (move === "thaw") duty.running();
      log.info(move === "thaw" ? "worker_thawed" : "worker_frozen", { workerId });
      return true;
    } catch (error) {
      this.#fault = error instanceof Error ? error.message : String(error);
      log.warn("worker_standby_failed", { workerId, reason: this.#fault });
      return false;
    }
  }
}

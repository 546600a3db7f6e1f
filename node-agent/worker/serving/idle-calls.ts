import type { AgentLog } from "../../log.ts";
import { ParkedPolls, type Poll } from "../../worker-server/poll.ts";
import type { WorkerCalls } from "../../worker-server/worker-server.ts";

/** The worker protocol toward a container that is there for requests: there are no jobs, and it may go on asking. */
export class IdleCalls implements WorkerCalls {
  readonly #log: AgentLog;
  readonly #holdMs: () => number;
  readonly #polls = new ParkedPolls<null>(() => {});

  constructor(log: AgentLog, holdMs: () => number) {
    this.#log = log;
    this.#holdMs = holdMs;
  }

  take(poll: Poll): void {
    this.#polls.park(poll, null, this.#holdMs());
  }

  stopPoll(poll: Poll): void {
    this.#polls.park(poll, null, this.#holdMs());
  }

  drop(poll: Poll): void {
    this.#polls.drop(poll);
  }

  /** Its health is asked for at its own server. */
  ping(): void {}

  async result(jobId: string): Promise<void> {
    this.#log.info("result_dropped", { jobId });
  }

  chunk(jobId: string): void {
    this.#log.info("chunk_dropped", { jobId });
  }

  releaseAll(): void {
    this.#polls.releaseAll();
  }
}

import { PollQueue, type Poll } from "../../worker-server/poll.ts";
import type { WorkerCalls } from "../../worker-server/worker-server.ts";

/** The worker protocol toward a container that is there for requests: there are no jobs, and it may go on asking. */
export class IdleCalls implements WorkerCalls {
  readonly #holdMs: () => number;
  readonly #polls = new PollQueue<null>(() => {});

  constructor(holdMs: () => number) {
    this.#holdMs = holdMs;
  }

  take(poll: Poll): void {
    this.#polls.add(poll, null, this.#holdMs());
  }

  stopPoll(poll: Poll): void {
    this.#polls.add(poll, null, this.#holdMs());
  }

  drop(poll: Poll): void {
    this.#polls.drop(poll);
  }

  /** Its health is asked for at its own server. */
  ping(): void {}

  /** There are no jobs, so nothing is received of any. */
  holds(): boolean {
    return false;
  }

  async result(): Promise<void> {}

  chunk(): void {}

  endPolls(): void {
    this.#polls.endAll();
  }
}

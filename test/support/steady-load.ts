/** Jobs that come one after the other from several clients, and what becomes of each. */
import { setTimeout as delay } from "node:timers/promises";
import type { JobView } from "../../src/contract/job.ts";
import { QueueClient } from "./queue-client.ts";

/** Pause of a client between two jobs: enough of them meet every change, and the machine has time for it. */
const PAUSE_MS = 50;

export type LoadedJob = {
  /** On the clock of performance.now(). */
  readonly submittedAt: number;
  readonly endedAt: number;
  readonly reply: JobView;
};

type Target = ConstructorParameters<typeof QueueClient>[0];

export class SteadyLoad implements AsyncDisposable {
  readonly jobs: LoadedJob[] = [];
  readonly #client: QueueClient;
  readonly #input: () => unknown;
  readonly #loops: readonly Promise<void>[];
  #isOver = false;
  #watchers: (() => void)[] = [];

  /** Each client submits its next job when it has the result of the one before. */
  constructor(target: Target, clients: number, input: () => unknown) {
    this.#client = new QueueClient(target);
    this.#input = input;
    this.#loops = Array.from({ length: clients }, () => this.#loop());
  }

  /** Resolves when a job has ended that was submitted at the time or later. */
  async untilOneSince(time: number): Promise<LoadedJob> {
    for (;;) {
      const found = this.jobs.find(({ submittedAt }) => submittedAt >= time);
      if (found) return found;
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #loop(): Promise<void> {
    while (!this.#isOver) {
      const submittedAt = performance.now();
      const first = await this.#client.runsync(this.#input());
      const isOpen = first.status === "IN_QUEUE" || first.status === "IN_PROGRESS";
      const reply = isOpen ? await this.#client.result(first.id) : first;
      this.jobs.push({ submittedAt, endedAt: performance.now(), reply });
      for (const wake of this.#watchers.splice(0)) wake();
      // oxlint-disable-next-line edgerun/no-sleeps -- a client pauses between two requests
      await delay(PAUSE_MS);
    }
  }
}

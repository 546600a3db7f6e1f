/** Jobs of some clients, each of which submits the next when the last has ended, and what became of all of them. */
import type { JobView } from "../../src/contract/job.ts";
import type { QueueClient } from "../../test/support/queue-client.ts";

export type EndedJob = {
  readonly id: string;
  readonly token: string;
  readonly result: JobView;
  readonly at: number;
};

export class Load {
  readonly #client: QueueClient;
  readonly #inputOf: (token: string) => object;
  readonly ended: EndedJob[] = [];
  #submitted = 0;
  #isOver = false;
  #clients: readonly Promise<void>[] = [];

  /** `inputOf`: the input whose output is a text that no other job has. */
  constructor(client: QueueClient, inputOf: (token: string) => object) {
    this.#client = client;
    this.#inputOf = inputOf;
  }

  start(clients: number): void {
    this.#clients = Array.from({ length: clients }, () => this.#go());
    for (const client of this.#clients) client.catch(() => {}); // who stops them hears of it
  }

  /** Resolves when the last job has ended. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  /** Jobs that ended per second between two moments of `Date.now()`. */
  rate(from: number, to: number): number {
    const count = this.ended.filter(({ at }) => at >= from && at < to).length;
    return (count * 1_000) / (to - from);
  }

  async #go(): Promise<void> {
    while (!this.#isOver) {
      this.#submitted += 1;
      const token = `short ${this.#submitted}`;
      const { id } = await this.#client.run(this.#inputOf(token));
      const result = await this.#client.result(id);
      this.ended.push({ id, token, result, at: Date.now() });
    }
  }
}

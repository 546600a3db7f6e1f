/** What an endpoint and its hosts look like over time, as the public APIs tell it. */
import { setTimeout as delay } from "node:timers/promises";
import type { WorkerCounts } from "../../src/contract/job.ts";
import type { QueueClient } from "../../test/support/queue-client.ts";
import type { FleetRig } from "../../test/support/rig/fleet-rig.ts";

export type Sample = {
  /** Milliseconds since the first look. */
  readonly at: number;
  readonly inQueue: number;
  readonly inProgress: number;
  readonly completed: number;
  readonly workers: WorkerCounts;
  /** Workers that are placed on each host, whatever they do. */
  readonly placed: Readonly<Record<string, number>>;
};

export class Samples {
  readonly #rig: FleetRig;
  readonly #client: QueueClient;
  readonly #startedAt = performance.now();
  readonly #taken: Sample[] = [];

  constructor(rig: FleetRig, client: QueueClient) {
    this.#rig = rig;
    this.#client = client;
  }

  get taken(): readonly Sample[] {
    return this.#taken;
  }

  /** Looks again and again until a look shows what is waited for, which is the last sample. */
  async takeUntil(isOver: (sample: Sample) => boolean, intervalMs: number): Promise<void> {
    for (;;) {
      const sample = await this.#take();
      this.#taken.push(sample);
      if (isOver(sample)) return;
      await delay(intervalMs);
    }
  }

  async #take(): Promise<Sample> {
    const [{ jobs, workers }, hosts] = await Promise.all([this.#client.health(), this.#rig.hosts()]);
    const { inQueue, inProgress, completed } = jobs;
    const placed = Object.fromEntries([...hosts.values()].map(({ name, workers: count }) => [name, count]));
    const at = Math.round(performance.now() - this.#startedAt);
    return { at, inQueue, inProgress, completed, workers, placed };
  }
}

/** All workers that are placed. */
export function placedWorkers({ placed }: Sample): number {
  return Object.values(placed).reduce((sum, count) => sum + count, 0);
}

/** What a client sees of its jobs while something breaks under them, and what becomes of them. */
import { setTimeout as delay } from "node:timers/promises";
import type { JobView } from "../../src/contract/job.ts";
import type { QueueClient } from "../../test/support/queue-client.ts";

const LOOK_AGAIN_MS = 50;

export type FailureRecord = {
  /** What the jobs under way showed, each thing once, in the order in which it was first seen. */
  readonly seen: readonly string[];
  /** Sentences that queued jobs showed meanwhile. */
  readonly details: readonly string[];
  /** Milliseconds from the failure until all jobs have ended. */
  readonly endedMs: number;
  /** Milliseconds from the failure until one of the jobs under way waits again; null where none did. */
  readonly requeuedMs: number | null;
  readonly results: readonly JobView[];
  /** What the endpoint counted since the first submit. */
  readonly counted: { readonly completed: number; readonly failed: number; readonly retried: number };
};

export type FailureSettings = {
  /** Inputs of the jobs. */
  readonly inputs: readonly unknown[];
  /** How many of them shall be under way before it breaks; 0 for a failure that lets none begin. */
  readonly underWay: number;
  /** Injects a failure, and may repair it. */
  readonly failure: (moments: Moments) => Promise<void>;
};

/** What a failure may wait for. */
export type Moments = {
  /** One of the jobs under way waits in the queue again, or was there. */
  readonly requeued: Promise<void>;
  /** All jobs under way have ended. */
  readonly ended: Promise<void>;
};

/** Submits jobs, breaks something under those that run, and waits until all have ended. */
export async function observe(client: QueueClient, settings: FailureSettings): Promise<FailureRecord> {
  const before = (await client.health()).jobs;
  const jobs = await Promise.all(settings.inputs.map((input) => client.run(input)));
  const watched = jobs.slice(0, Math.max(1, settings.underWay));
  if (settings.underWay > 0) await Promise.all(watched.map(({ id }) => client.untilRunning(id)));
  const view = new View();
  const brokenAt = performance.now();
  const ended = Promise.all(watched.map(({ id }) => view.follow(client, id))).then(() => {});
  let requeuedMs: number | null = null;
  void view.requeued.then(() => (requeuedMs = Math.round(performance.now() - brokenAt)));
  const failure = settings.failure({ requeued: view.requeued, ended });
  const results = await Promise.all(jobs.map(({ id }) => client.result(id)));
  const endedMs = Math.round(performance.now() - brokenAt);
  await Promise.all([ended, failure]);
  const after = (await client.health()).jobs;
  const counted = {
    completed: after.completed - before.completed,
    failed: after.failed - before.failed,
    retried: after.retried - before.retried,
  };
  if (counted.completed + counted.failed !== jobs.length) {
    throw new Error(`${jobs.length} jobs ended, but the endpoint counts ${JSON.stringify(counted)}`);
  }
  return { seen: [...view.seen], details: [...view.details], endedMs, requeuedMs, results, counted };
}

/** What the answers about some jobs have shown. */
class View {
  readonly seen = new Set<string>();
  readonly details = new Set<string>();
  readonly requeued: Promise<void>;
  readonly #noteRequeued: () => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.requeued = promise;
    this.#noteRequeued = resolve;
  }

  /** Looks at a job until it has ended. */
  async follow(client: QueueClient, jobId: string): Promise<void> {
    for (;;) {
      const { status, queue, retries = 0 } = await client.status(jobId);
      this.seen.add(queue ? `${status}: ${queue.reason}` : status);
      if (queue) this.details.add(queue.detail);
      if (status === "IN_QUEUE" || retries > 0) this.#noteRequeued();
      if (status !== "IN_QUEUE" && status !== "IN_PROGRESS") return;
      await delay(LOOK_AGAIN_MS);
    }
  }
}

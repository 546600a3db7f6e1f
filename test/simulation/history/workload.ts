/** What clients do: operations of the public APIs in random order, on jobs, endpoints and pods of their own. */
import type { World } from "../world/world.ts";
import { Batches } from "./batches.ts";
import type { KnownJob, SimulatedClient } from "./client.ts";
import { JobCalls } from "./job-calls.ts";
import { KnownJobs } from "./known-jobs.ts";
import { Operator } from "./operator.ts";
import { PodUser } from "./pods.ts";
import type { HistoryPlan } from "./plan.ts";
import { RateCalls } from "./rates.ts";
import { Streams } from "./streams.ts";

export type WorkloadParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly endpointIds: readonly string[];
  readonly client: SimulatedClient;
  /** With whom it shares its jobs. */
  readonly clients: readonly SimulatedClient[];
  /** Whether a job that has ended without chunks may still show those of the execution with the mark. */
  readonly mayHaveLeftChunks: (job: KnownJob, mark: number) => boolean;
  /** Queued jobs may vanish. */
  readonly onPurge: () => void;
  readonly hasPurged: () => boolean;
  /** Something that no correct service answers. */
  readonly violate: (what: string) => void;
};

/** Typical time after which a client that changes its mind does so, and within how many events at the latest. */
const ABANDONED_MS = 1_000;
const ABANDONED_EVENTS = 30;

type Operation = (workload: Workload) => Promise<void>;

export class Workload {
  readonly #parts: WorkloadParts;
  isOver = false;
  readonly jobs: JobCalls;
  readonly streams: Streams;
  readonly batches: Batches;
  readonly pods: PodUser;
  readonly operator: Operator;
  readonly #rates: RateCalls;

  constructor(parts: WorkloadParts) {
    const { world, client, endpointIds, plan, violate } = parts;
    this.#parts = parts;
    const known = new KnownJobs(parts);
    this.jobs = new JobCalls({ ...parts, known });
    this.streams = new Streams({ ...parts, known });
    this.batches = new Batches(client, parts.hasPurged, violate);
    this.pods = new PodUser({ world, client, plan, violate });
    this.operator = new Operator(world, client, endpointIds, plan);
    this.#rates = new RateCalls({ world, client, plan, violate });
  }

  get plan(): HistoryPlan {
    return this.#parts.plan;
  }

  get client(): SimulatedClient {
    return this.#parts.client;
  }

  start(): void {
    const { client, world, plan } = this.#parts;
    client.run(world, async () => {
      for (let count = 0; count < plan.operationCount; count += 1) {
        await this.#rest();
        if (world.random.chance(plan.abandoning)) await this.abandon();
        else await world.random.pick(OPERATIONS)(this);
      }
      this.isOver = true;
    });
  }

  /** Until a while has passed, or some events: those are many where much happens, so that more is done at such times. */
  async #rest(): Promise<void> {
    const { world, plan } = this.#parts;
    const whileMs = world.random.delay(plan.paceMs);
    if (!world.random.chance(0.3)) return await pause(whileMs);
    await this.#pass(world.random.whole(1, 80), 2 * whileMs);
  }

  /** Until so many events have happened, or so much time has passed. */
  async #pass(eventCount: number, mostMs: number): Promise<void> {
    const { client, world } = this.#parts;
    await Promise.race([
      pause(mostMs),
      new Promise<void>((resolve) => world.afterEvents(client.machine, eventCount, resolve)),
    ]);
  }

  // Operations

  async submit(): Promise<void> {
    await this.jobs.submit(this.#endpoint());
  }

  /** A client changes its mind about a job: before it is given out, while it is, or while it runs. */
  async abandon(): Promise<void> {
    const { world } = this.#parts;
    const job = await this.jobs.submit(this.#endpoint());
    await this.#pass(world.random.whole(1, ABANDONED_EVENTS), world.random.delay(ABANDONED_MS));
    if (job) await this.jobs.cancel(job);
  }

  async runAndWait(): Promise<void> {
    await this.jobs.runAndWait(this.#endpoint());
  }

  async submitBatch(): Promise<void> {
    const { random } = this.#parts.world;
    const inputs = Array.from({ length: random.whole(1, 6) }, () => ({ number: random.whole(0, 1e9) }));
    await this.batches.submit(this.#endpoint(), inputs);
  }

  async cancelBatch(): Promise<void> {
    await this.batches.cancelOne((known) => this.#parts.world.random.pick(known));
  }

  async manage(): Promise<void> {
    await this.operator.act();
  }

  async burst(): Promise<void> {
    const endpointId = this.#endpoint();
    await (this.#parts.world.random.chance(0.3)
      ? this.#rates.flood(endpointId)
      : this.#rates.probe(endpointId));
  }

  async health(): Promise<void> {
    await this.#parts.client.call("GET", `/v2/${this.#endpoint()}/health`);
  }

  async purge(): Promise<void> {
    this.#parts.onPurge();
    await this.#parts.client.call("POST", `/v2/${this.#endpoint()}/purge-queue`);
  }

  #endpoint(): string {
    return this.#parts.world.random.pick(this.#parts.endpointIds);
  }
}

/** With as many of each as it is likely; those of a habit stand in for others where the plan has it not. */
const OPERATIONS: readonly Operation[] = [
  (workload) => workload.submit(),
  (workload) => workload.submit(),
  (workload) => workload.submit(),
  (workload) => workload.runAndWait(),
  (workload) => workload.jobs.status(),
  (workload) => (workload.plan.isManaged ? workload.manage() : workload.jobs.status()),
  (workload) => workload.jobs.cancelAny(),
  (workload) => workload.jobs.retryAny(),
  (workload) => workload.health(),
  (workload) => workload.streams.read(),
  (workload) => (workload.plan.isPurging ? workload.purge() : workload.submit()),
  (workload) => (workload.plan.hasBatches ? workload.submitBatch() : workload.submit()),
  (workload) => (workload.plan.hasBatches ? workload.cancelBatch() : workload.jobs.status()),
  (workload) => (workload.plan.isManaged ? workload.manage() : workload.jobs.status()),
  (workload) => (workload.plan.isBursting ? workload.burst() : workload.health()),
  (workload) => (workload.plan.isRetrying ? workload.jobs.retryAny() : workload.jobs.status()),
  (workload) => (workload.plan.isRetrying ? workload.jobs.retryAny() : workload.submit()),
  (workload) => (workload.plan.isRetrying ? workload.runAndWait() : workload.submit()),
  (workload) => (workload.plan.hasPods ? workload.pods.act() : workload.submit()),
  (workload) => (workload.plan.hasPods ? workload.pods.act() : workload.submit()),
  (workload) => (workload.plan.hasPods ? workload.pods.act() : workload.submit()),
  (workload) => (workload.plan.hasPods ? workload.pods.act() : workload.jobs.status()),
  (workload) => workload.runAndWait(),
];

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** What clients do: operations of the public APIs in random order, on jobs, endpoints and pods of their own. */
import type { World } from "../world/world.ts";
import { Batches } from "./batches.ts";
import type { ClaimOrder } from "./claim-order.ts";
import type { KnownJob, SimulatedClient } from "./client.ts";
import type { StoredJob } from "./endpoint-rows.ts";
import { Crowds } from "./crowds.ts";
import { JobCalls } from "./job-calls.ts";
import { JobLists } from "./job-lists.ts";
import { KnownJobs } from "./known-jobs.ts";
import { MetricsReader } from "./metrics-reader.ts";
import { type JobEnd, OpenaiUser } from "./openai-user.ts";
import { Operator } from "./operator.ts";
import { PodUser } from "./pods.ts";
import type { Outputs } from "./outputs.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Purges } from "./purges.ts";
import { RateCalls } from "./rates.ts";
import { StreamFollower } from "./stream-follower.ts";
import { Streams } from "./streams.ts";
import { WebhookCalls } from "./webhook-calls.ts";
import type { Webhooks } from "./webhooks.ts";

export type WorkloadParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly endpointIds: readonly string[];
  readonly client: SimulatedClient;
  /** With whom it shares its jobs. */
  readonly clients: readonly SimulatedClient[];
  /** Whether a job that has ended without chunks may still show those of the execution with the mark. */
  readonly mayHaveLeftChunks: (job: KnownJob, mark: number) => boolean;
  /** It begins another operation. */
  readonly onOperation: () => void;
  readonly purges: Purges;
  readonly claimOrder: ClaimOrder;
  readonly outputs: Pick<Outputs, "check">;
  readonly storedJobs: (endpointId: string) => readonly StoredJob[];
  readonly webhooks: Webhooks;
  /** The last ends of all jobs. */
  readonly ends: () => Iterable<JobEnd>;
  /** Id of the job of the execution with the mark. */
  readonly jobOfMark: (mark: number) => string | undefined;
  readonly hasPlatformFaults: boolean;
  /** What clients and the edge say to each other may come late. */
  readonly hasDelays: boolean;
  /** When the job has ended last, true time in ms of the history; `Infinity` while it has not. */
  readonly endedAt: (jobId: string) => number;
  /** Something that no correct service answers. */
  readonly violate: (what: string) => void;
};

/** Typical time after which a client that changes its mind does so, and within how many events at the latest. */
const ABANDONED_MS = 1_000;
const ABANDONED_EVENTS = 30;

type Operation = (workload: Workload) => Promise<void>;

export class Workload {
  readonly #parts: WorkloadParts;
  readonly #known: KnownJobs;
  isOver = false;
  readonly jobs: JobCalls;
  readonly streams: Streams;
  readonly batches: Batches;
  readonly metrics: MetricsReader;
  readonly openai: OpenaiUser;
  readonly lists: JobLists;
  readonly webhooks: WebhookCalls;
  readonly pods: PodUser;
  readonly operator: Operator;
  readonly #rates: RateCalls;
  readonly #crowds: Crowds;

  constructor(parts: WorkloadParts) {
    const { world, client, endpointIds, plan, violate } = parts;
    this.#parts = parts;
    const known = (this.#known = new KnownJobs(parts));
    this.jobs = new JobCalls({ ...parts, known });
    this.streams = new Streams({ ...parts, known });
    this.batches = new Batches(parts);
    this.metrics = new MetricsReader(parts);
    this.openai = new OpenaiUser(parts);
    this.lists = new JobLists({ ...parts, known });
    this.webhooks = new WebhookCalls({ ...parts, known });
    this.pods = new PodUser({ world, client, plan, violate });
    this.operator = new Operator(world, client, endpointIds, plan);
    this.#rates = new RateCalls({ world, client, plan, violate });
    this.#crowds = new Crowds({ client, hasShards: plan.hasShards, violate });
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
      if (plan.isCrowding) await this.crowd();
      for (let count = 0; count < plan.operationCount; count += 1) {
        await this.#rest();
        this.#parts.onOperation();
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

  /** Where all handlers yield chunks, clients want to see them. */
  async bring(): Promise<void> {
    if (this.plan.streaming === 1) await this.follow();
    else await this.submit();
  }

  async submit(): Promise<void> {
    await this.jobs.submit(this.#endpoint());
  }

  /** Mostly of a new job: what comes while it runs. */
  async follow(): Promise<void> {
    const { world } = this.#parts;
    const job = world.random.chance(0.7) ? await this.jobs.submit(this.#endpoint()) : this.#known.any();
    if (job) await new StreamFollower({ ...this.#parts, known: this.#known, jobs: this.jobs }, job).follow();
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
    await this.batches.submit(this.#endpoint());
  }

  async cancelBatch(): Promise<void> {
    await this.batches.cancelOne();
  }

  async manage(): Promise<void> {
    await this.operator.act();
  }

  async burst(): Promise<void> {
    const endpointId = this.#endpoint();
    const burst = this.#parts.world.random.pick([
      () => this.#rates.flood(endpointId),
      () => this.#rates.probe(endpointId),
      () => this.#rates.probe(endpointId),
      () => this.#rates.overfill(endpointId),
    ]);
    await burst();
  }

  async crowd(): Promise<void> {
    const job = await this.jobs.submit(this.#endpoint());
    if (job) await this.#crowds.meet(job);
  }

  async health(): Promise<void> {
    await this.#parts.client.call("GET", `/v2/${this.#endpoint()}/health`);
  }

  /** A probe of the rates counts these calls. */
  async list(): Promise<void> {
    if (this.plan.isBursting) await this.jobs.status();
    else await this.lists.read(this.#endpoint());
  }

  async measure(): Promise<void> {
    await this.metrics.read(this.#endpoint());
  }

  async ask(): Promise<void> {
    await this.openai.call(this.#endpoint());
  }

  async purge(): Promise<void> {
    await this.#parts.purges.call(this.#parts.client, this.#endpoint());
  }

  #endpoint(): string {
    return this.#parts.world.random.pick(this.#parts.endpointIds);
  }
}

/** With as many of each as it is likely; those of a habit stand in for others where the plan has it not. */
const OPERATIONS: readonly Operation[] = [
  (workload) => workload.bring(),
  (workload) => workload.bring(),
  (workload) => workload.bring(),
  (workload) => workload.runAndWait(),
  (workload) => workload.jobs.status(),
  (workload) => (workload.plan.isManaged ? workload.manage() : workload.jobs.status()),
  (workload) => workload.jobs.cancelAny(),
  (workload) => workload.jobs.retryAny(),
  (workload) => workload.health(),
  (workload) => workload.streams.read(),
  (workload) => workload.list(),
  (workload) => workload.measure(),
  (workload) => (workload.plan.hasOpenai ? workload.ask() : workload.submit()),
  (workload) => (workload.plan.hasOpenai ? workload.ask() : workload.jobs.status()),
  (workload) => (workload.plan.streaming > 0 ? workload.follow() : workload.submit()),
  (workload) => (workload.plan.isPurging ? workload.purge() : workload.submit()),
  (workload) => (workload.plan.hooked > 0 ? workload.webhooks.act() : workload.submit()),
  (workload) => (workload.plan.hasBatches ? workload.submitBatch() : workload.submit()),
  (workload) => (workload.plan.hasBatches ? workload.cancelBatch() : workload.jobs.status()),
  (workload) => (workload.plan.hasBatches ? workload.batches.look() : workload.jobs.status()),
  (workload) => (workload.plan.hasBatches ? workload.batches.look() : workload.submit()),
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

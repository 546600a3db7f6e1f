/** What clients do: operations of the queue API in random order, on jobs of their own. */
import type { World } from "../world/world.ts";
import { Batches } from "./batches.ts";
import type { Answer, KnownJob, SimulatedClient } from "./client.ts";
import type { JobCall } from "./linearizability.ts";
import { Operator } from "./operator.ts";
import { PodUser } from "./pods.ts";
import type { HistoryPlan } from "./plan.ts";
import { RateCalls } from "./rates.ts";

export type WorkloadParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly endpointIds: readonly string[];
  readonly client: SimulatedClient;
  /** With whom it shares its jobs. */
  readonly clients: readonly SimulatedClient[];
  /** Of another account; null where there is none. */
  readonly stranger: SimulatedClient | null;
  /** Whether a job that has ended without chunks may still show those of the execution with the mark. */
  readonly mayHaveLeftChunks: (job: KnownJob, mark: number) => boolean;
  /** Queued jobs may vanish. */
  readonly onPurge: () => void;
  readonly hasPurged: () => boolean;
  /** Something that no correct service answers. */
  readonly violate: (what: string) => void;
};

const RETRYABLE = new Set(["FAILED", "TIMED_OUT"]);

type NewJob = Pick<KnownJob, "endpointId" | "jobId" | "input" | "hook" | "expiresAt">;
type Operation = (workload: Workload) => Promise<void>;

export class Workload {
  readonly #parts: WorkloadParts;
  isOver = false;
  readonly batches: Batches;
  readonly pods: PodUser;
  readonly #operator: Operator;
  readonly #rates: RateCalls;

  constructor(parts: WorkloadParts) {
    const { world, client, endpointIds, plan, violate } = parts;
    this.#parts = parts;
    this.batches = new Batches(client, parts.hasPurged, violate);
    this.pods = new PodUser({ world, client, plan, violate });
    this.#operator = new Operator(world, client, endpointIds, plan);
    this.#rates = new RateCalls({ world, client, plan, violate });
  }

  get plan(): HistoryPlan {
    return this.#parts.plan;
  }

  start(): void {
    const { client, world, plan } = this.#parts;
    client.run(world, async () => {
      for (let count = 0; count < plan.operationCount; count += 1) {
        await this.#rest();
        await world.random.pick(OPERATIONS)(this);
      }
      this.isOver = true;
    });
  }

  /** Until a while has passed, or some events: those are many where much happens, so that more is done at such times. */
  async #rest(): Promise<void> {
    const { client, world, plan } = this.#parts;
    const whileMs = world.random.delay(plan.paceMs);
    if (!world.random.chance(0.3)) return await pause(whileMs);
    const eventCount = world.random.whole(1, 80);
    await Promise.race([
      pause(2 * whileMs),
      new Promise<void>((resolve) => world.afterEvents(client.machine, eventCount, resolve)),
    ]);
  }

  // Operations

  async submit(): Promise<void> {
    const { client, world } = this.#parts;
    const endpointId = this.#endpoint();
    const input = { number: world.random.whole(0, 1e9) };
    const hook = world.random.chance(this.plan.hooked)
      ? `https://hooks.test/${world.random.whole(0, 1e9)}`
      : null;
    const key = `key-${world.random.whole(0, 1e9)}`;
    const policy = this.#choosePolicy();
    const body = { input, ...(hook !== null && { webhook: hook }), ...(policy && { policy }) };
    const ids = new Set<string>();
    const begunAt = world.elapsedMs;
    // A repeated submission is harmless, so it is repeated until it is answered.
    for (let tries = 0; tries < 8; tries += 1) {
      const answer = await client.call("POST", `/v2/${endpointId}/run`, body, { "Idempotency-Key": key });
      if (answer?.status === 200) ids.add(String(answer.body["id"]));
      if (answer && answer.status < 500 && !world.random.chance(0.1)) break;
      await pause(200);
    }
    const [jobId, ...others] = ids;
    if (others.length > 0) this.#parts.violate(`one idempotency key made the jobs ${[...ids].join(", ")}`);
    if (jobId === undefined) return;
    // The first answer may have been lost.
    const expiresAt =
      policy?.ttl === undefined ? null : (ids.size > 0 ? world.elapsedMs : begunAt) + policy.ttl;
    // It may never end, and then tells nobody.
    const isSure = expiresAt === null && policy?.lowPriority !== true;
    this.#know({ endpointId, jobId, input, hook: isSure ? hook : null, expiresAt });
  }

  #choosePolicy(): {
    readonly ttl?: number;
    readonly lowPriority?: boolean;
    executionTimeout?: number;
  } | null {
    const { plan, world } = this.#parts;
    const { random } = world;
    if (plan.lowPriority > 0) return random.chance(plan.lowPriority) ? { lowPriority: true } : null;
    if (!plan.hasPolicies || random.chance(0.3)) return null;
    return random.pick([
      { ttl: random.pick([10_000, 30_000]) },
      { lowPriority: true },
      { executionTimeout: random.pick([5_000, 10_000]) },
    ]);
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
    await this.#operator.act();
  }

  async burst(): Promise<void> {
    const endpointId = this.#endpoint();
    await (this.#parts.world.random.chance(0.3)
      ? this.#rates.flood(endpointId)
      : this.#rates.probe(endpointId));
  }

  /** Nobody learns anything of another account's job, or changes it. */
  async trespass(): Promise<void> {
    const { stranger, world, violate } = this.#parts;
    const job = this.#any();
    if (!job || !stranger) return;
    const [method, operation] = world.random.pick([
      ["GET", "status"],
      ["GET", "stream"],
      ["POST", "cancel"],
      ["POST", "retry"],
    ] as const);
    const answer = await stranger.call(method, `/v2/${job.endpointId}/${operation}/${job.jobId}`);
    if (answer?.status === 200) violate(`another account may call ${operation} of ${job.jobId}`);
  }

  async runAndWait(): Promise<void> {
    const { client, world } = this.#parts;
    const endpointId = this.#endpoint();
    const input = { number: world.random.whole(0, 1e9) };
    const answer = await client.call("POST", `/v2/${endpointId}/runsync`, { input });
    if (answer?.status !== 200) return;
    const job = this.#know({
      endpointId,
      jobId: String(answer.body["id"]),
      input,
      hook: null,
      expiresAt: null,
    });
    this.#learn(job, answer);
  }

  async status(): Promise<void> {
    const job = this.#any();
    if (job) await this.read(job);
  }

  async read(job: KnownJob): Promise<Answer | undefined> {
    const { world, violate } = this.#parts;
    const isExpired = job.expiresAt !== null && world.elapsedMs > job.expiresAt + this.#skewMs;
    const answer = await this.#ask("read", job, "GET", "status");
    if (answer?.status === 200 && isExpired && !job.isRetryRequested)
      violate(`${job.jobId} can be read after it has expired: ${String(answer.body["status"])}`);
    if (answer) this.#learn(job, answer);
    if (answer?.status === 404 && isKept(job)) violate(`${job.jobId} is gone`);
    const isComplete = answer?.status === 200 && answer.body["status"] === "COMPLETED";
    if (isComplete && !("output" in answer.body)) violate(`${job.jobId} has lost its output`);
    return answer;
  }

  async cancel(): Promise<void> {
    const job = this.#any();
    if (!job) return;
    job.isCancelRequested = true;
    const answer = await this.#ask("cancel", job, "POST", "cancel");
    if (answer) this.#learn(job, answer);
  }

  /** Mostly of jobs that can be retried, as far as is known; else one learns of more of them. */
  async retry(): Promise<void> {
    const { world } = this.#parts;
    const failed = this.#jobs().filter(({ read }) => RETRYABLE.has(read.at(-1) ?? ""));
    const job = failed.length > 0 ? world.random.pick(failed) : this.#any();
    if (!job) return;
    if (failed.length === 0) return void (await this.read(job));
    job.isRetryRequested = true;
    await this.#ask("retry", job, "POST", "retry");
  }

  async health(): Promise<void> {
    await this.#parts.client.call("GET", `/v2/${this.#endpoint()}/health`);
  }

  async purge(): Promise<void> {
    this.#parts.onPurge();
    await this.#parts.client.call("POST", `/v2/${this.#endpoint()}/purge-queue`);
  }

  async readStream(): Promise<void> {
    const job = this.#any();
    if (!job) return;
    job.isStreamRead = true; // an answer that gets lost takes chunks with it
    await this.#parts.client.call("GET", `/v2/${job.endpointId}/stream/${job.jobId}`);
  }

  /** All chunks of the attempt that completed, in their order; for a stream that nobody has read before. */
  async checkStream(job: KnownJob): Promise<void> {
    if (job.isStreamRead || job.output === undefined) return;
    const { mark, chunkCount } = JSON.parse(job.output as string) as { mark: number; chunkCount: number };
    const numbers: number[] = [];
    // What a lost attempt has yielded is there until another one yields something, or a client retries the job.
    const isOwn = (of: number): boolean =>
      of === mark || (chunkCount === 0 && this.#parts.mayHaveLeftChunks(job, of));
    for (let calls = 0; calls < 20; calls += 1) {
      const answer = await this.#parts.client.call("GET", `/v2/${job.endpointId}/stream/${job.jobId}`);
      const { stream = [] } = (answer?.body ?? {}) as {
        stream?: { output: { mark: number; number: number } }[];
      };
      if (answer?.status !== 200 || stream.length === 0) break;
      if (stream.some(({ output }) => !isOwn(output.mark)))
        return this.#parts.violate(`the stream of ${job.jobId} has chunks of another attempt`);
      numbers.push(...stream.flatMap(({ output }) => (output.mark === mark ? [output.number] : [])));
    }
    if (this.#mayHaveExpired(job)) return;
    const expected = Array.from({ length: chunkCount }, (_, number) => number);
    if (numbers.join() === expected.join()) return;
    this.#parts.violate(
      `the stream of ${job.jobId} has the chunks ${numbers.join()} instead of ${expected.join()}`,
    );
  }

  // What is known

  #endpoint(): string {
    return this.#parts.world.random.pick(this.#parts.endpointIds);
  }

  /** How far the clocks of two servers may differ. */
  get #skewMs(): number {
    return 2 * (this.plan.faults.get("clockSkew") ?? 0);
  }

  #mayHaveExpired({ expiresAt }: KnownJob): boolean {
    return expiresAt !== null && this.#parts.world.elapsedMs >= expiresAt - this.#skewMs;
  }

  #jobs(): KnownJob[] {
    return this.#parts.clients.flatMap(({ jobs }) => jobs);
  }

  /** A call about a job, which is noted with what is answered. */
  async #ask(
    kind: JobCall["kind"],
    job: KnownJob,
    method: string,
    operation: string,
  ): Promise<Answer | undefined> {
    const { client, world } = this.#parts;
    const call = { kind, sentAt: world.elapsedMs, answer: null as JobCall["answer"] };
    // A read that nobody hears of says nothing.
    if (kind !== "read") job.calls.push(call);
    const answer = await client.call(method, `/v2/${job.endpointId}/${operation}/${job.jobId}`);
    const isHeard = answer?.status === 200 || (kind === "retry" && answer?.status === 409);
    if (!isHeard) return answer;
    call.answer = {
      at: world.elapsedMs,
      status: answer.status === 200 ? String(answer.body["status"]) : null,
    };
    if (kind === "read") job.calls.push(call);
    return answer;
  }

  #any(): KnownJob | undefined {
    const jobs = this.#jobs();
    return jobs.length === 0 ? undefined : this.#parts.world.random.pick(jobs);
  }

  #know({ endpointId, jobId, input, hook, expiresAt }: NewJob): KnownJob {
    const { client } = this.#parts;
    const known = client.jobs.find((job) => job.jobId === jobId);
    if (known) return known;
    const job = {
      endpointId,
      jobId,
      input,
      hook,
      expiresAt,
      calls: [],
      read: [],
      output: undefined,
      isCancelRequested: false,
      isStreamRead: false,
      isRetryRequested: false,
    };
    client.jobs.push(job);
    return job;
  }

  #learn(job: KnownJob, { status, body }: Answer): void {
    if (status !== 200) return;
    const { violate } = this.#parts;
    const next = String(body["status"]);
    job.read.push(next);
    const isCancellable = job.isCancelRequested || this.#parts.hasPurged();
    if (next === "CANCELLED" && !isCancellable) violate(`${job.jobId} was cancelled by nobody`);
    if (next === "COMPLETED" && "output" in body) this.#learnOutput(job, body["output"]);
  }

  #learnOutput(job: KnownJob, output: unknown): void {
    const { violate } = this.#parts;
    const { of } = (output ?? {}) as { readonly of?: unknown };
    if (JSON.stringify(of) !== JSON.stringify(job.input))
      violate(`${job.jobId} has the output of another job`);
    const text = JSON.stringify(output);
    if (job.output !== undefined && job.output !== text) violate(`${job.jobId} has two outputs`);
    job.output = text;
  }
}

const OPERATIONS: readonly Operation[] = [
  (workload) => workload.submit(),
  (workload) => workload.submit(),
  (workload) => workload.submit(),
  (workload) => workload.runAndWait(),
  (workload) => workload.status(),
  (workload) => workload.status(),
  (workload) => workload.cancel(),
  (workload) => workload.retry(),
  (workload) => workload.health(),
  (workload) => workload.readStream(),
  (workload) => (workload.plan.isPurging ? workload.purge() : workload.submit()),
  (workload) => (workload.plan.hasBatches ? workload.submitBatch() : workload.submit()),
  (workload) => (workload.plan.hasBatches ? workload.cancelBatch() : workload.status()),
  (workload) => (workload.plan.isManaged ? workload.manage() : workload.status()),
  (workload) => (workload.plan.isBursting ? workload.burst() : workload.health()),
  (workload) => (workload.plan.isRetrying ? workload.retry() : workload.status()),
  (workload) => (workload.plan.isRetrying ? workload.retry() : workload.submit()),
  (workload) => (workload.plan.isRetrying ? workload.runAndWait() : workload.submit()),
  (workload) => (workload.plan.hasPods ? workload.pods.act() : workload.submit()),
  (workload) => (workload.plan.hasPods ? workload.pods.act() : workload.submit()),
  (workload) => (workload.plan.hasPods ? workload.pods.act() : workload.submit()),
  (workload) => (workload.plan.hasPods ? workload.pods.act() : workload.status()),
  (workload) => (workload.plan.hasStranger ? workload.trespass() : workload.runAndWait()),
];

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** Whether a job can be read for as long as a history takes: the result of a runsync and a job with a ttl go earlier. */
function isKept({ jobId, expiresAt }: KnownJob): boolean {
  return expiresAt === null && !jobId.startsWith("sync-");
}

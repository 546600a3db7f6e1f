/** Calls of a client about jobs of the queue. */
import type { World } from "../world/world.ts";
import type { Answer, KnownJob, SimulatedClient } from "./client.ts";
import type { KnownJobs } from "./known-jobs.ts";
import type { HistoryPlan } from "./plan.ts";
import { retentionOf } from "./retention.ts";

export type JobCallsParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly known: KnownJobs;
  /** When the job has ended last, true time in ms of the history; `Infinity` while it has not. */
  readonly endedAt: (jobId: string) => number;
  /** What clients and the edge say to each other may come late. */
  readonly hasDelays: boolean;
  readonly violate: (what: string) => void;
};

type Policy = { readonly ttl?: number; readonly lowPriority?: boolean; readonly executionTimeout?: number };

type Form = {
  readonly method: string;
  readonly operation: string;
  readonly query: string;
  readonly waitMs: number;
};

/** A status that does not wait. */
export const AT_ONCE: Form = { method: "GET", operation: "status", query: "", waitMs: 0 };

const RETRYABLE = new Set(["FAILED", "TIMED_OUT"]);
const OPEN = new Set(["IN_QUEUE", "IN_PROGRESS"]);
/** Share of the jobs whose inputs go to R2, where those of results do. */
const LARGE_INPUTS = 0.5;
const SUBMITTED_MAX = 8;
const RUNS_MAX = 4;
const READS_MAX = 6;
const READ_AGAIN_MS = 500;
const AGAIN_MS = 200;
/** Who waits hears of the end within this time, where nothing delays it. */
const PROMPT_MS = 1_000;
/** The end of a job is seen within this time. */
const LATE_MS = 100;
/** Share of the submissions that are repeated though they were answered. */
const REPEATED = 0.1;

export class JobCalls {
  readonly #parts: JobCallsParts;

  constructor(parts: JobCallsParts) {
    this.#parts = parts;
  }

  async submit(endpointId: string): Promise<KnownJob | undefined> {
    const { world, plan, known, violate } = this.#parts;
    const { random } = world;
    const isLarge = random.chance(plan.large * LARGE_INPUTS);
    const input = { number: random.whole(0, 1e9), ...(isLarge && { padding: "x".repeat(300_000) }) };
    const hook = random.chance(plan.hooked) ? `https://hooks.test/${random.whole(0, 1e9)}` : null;
    const key = `key-${random.whole(0, 1e9)}`;
    const policy = this.#choosePolicy();
    const body = { input, ...(hook !== null && { webhook: hook }), ...(policy && { policy }) };
    const begunAt = world.elapsedMs;
    const ids = await this.#send(endpointId, key, body);
    const [jobId, ...others] = ids;
    if (others.length > 0) violate(`one idempotency key made the jobs ${[...ids].join(", ")}`);
    if (jobId === undefined) return undefined;
    // The first answer may have been lost.
    const expiresAt =
      policy?.ttl === undefined ? null : (ids.size > 0 ? world.elapsedMs : begunAt) + policy.ttl;
    // It may never end, and then tells nobody.
    const isSure = expiresAt === null && policy?.lowPriority !== true;
    return known.add({
      ...{ endpointId, jobId, input, hook: isSure ? hook : null },
      ...{ submittedAt: begunAt, expiresAt },
    });
  }

  /** A repeated submission is harmless, so it is repeated until it is answered. Returns the ids that were answered. */
  async #send(endpointId: string, key: string, body: unknown): Promise<ReadonlySet<string>> {
    const { client, world } = this.#parts;
    const ids = new Set<string>();
    for (let tries = 0; tries < SUBMITTED_MAX; tries += 1) {
      const answer = await client.call("POST", `/v2/${endpointId}/run`, body, { "Idempotency-Key": key });
      if (answer?.status === 200) ids.add(String(answer.body["id"]));
      if (answer && answer.status < 500 && !world.random.chance(REPEATED)) break;
      await pause(AGAIN_MS);
    }
    return ids;
  }

  #choosePolicy(): Policy | null {
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

  /** Some clients run what has failed at once again, until it completes. */
  async runAndWait(endpointId: string): Promise<void> {
    const { client, world, known, plan } = this.#parts;
    const input = { number: world.random.whole(0, 1e9) };
    const submittedAt = world.elapsedMs;
    const answer = await client.call("POST", `/v2/${endpointId}/runsync`, { input });
    if (answer?.status !== 200) return;
    const jobId = String(answer.body["id"]);
    const job = known.add({ endpointId, jobId, input, hook: null, submittedAt, expiresAt: null });
    known.learn(job, answer);
    for (let runs = 1; plan.isRetrying && isFailed(job) && runs < RUNS_MAX; runs += 1) {
      await this.retry(job);
      await this.#awaitEnd(job);
    }
  }

  /** Reads the status of the job until it has ended, or for long enough. */
  async #awaitEnd(job: KnownJob): Promise<void> {
    for (let reads = 0; reads < READS_MAX; reads += 1) {
      await pause(READ_AGAIN_MS);
      await this.read(job);
      if (!OPEN.has(job.read.at(-1) ?? "")) return;
    }
  }

  async status(): Promise<void> {
    const job = this.#parts.known.any();
    if (job) await this.read(job);
  }

  /** In any of the ways that the API has, or as `form` says. */
  async read(job: KnownJob, form = this.#chooseForm()): Promise<Answer | undefined> {
    const { known, violate } = this.#parts;
    const isExpired = known.hasExpired(job);
    const sentAt = this.#parts.world.elapsedMs;
    const endedAt = this.#parts.endedAt(job.jobId);
    const answer = await known.ask("read", job, form.method, form.operation, form.query);
    if (!answer) return undefined;
    this.#checkWait(job, answer, form, sentAt);
    const { status, body } = answer;
    if (status === 200 && isExpired && !job.isRetryRequested)
      violate(`${job.jobId} can be read after it has expired: ${String(body["status"])}`);
    known.learn(job, answer);
    if (this.#parts.endedAt(job.jobId) === endedAt) this.#checkRetention(job, answer, sentAt, endedAt);
    if (status === 200 && body["status"] === "COMPLETED" && !("output" in body))
      violate(`${job.jobId} has lost its output`);
    return answer;
  }

  /** What has ended can be read for as long as the documentation says, and no longer. */
  #checkRetention(job: KnownJob, { status, body }: Answer, sentAt: number, endedAt: number): void {
    const { world, known, plan, violate } = this.#parts;
    const { jobId, submittedAt } = job;
    const retentionMs = retentionOf(job);
    const isOver = !OPEN.has(String(body["status"]));
    if (status === 200 && isOver && sentAt > endedAt + retentionMs + LATE_MS)
      violate(`${jobId} can be read ${sentAt - endedAt} ms after its end`);
    // No row says when a job was purged.
    const isPurged = endedAt === Infinity && known.mayBePurged(job);
    // The server that removes it may not be the one that wrote when it ended.
    const skewMs = 2 * (plan.faults.get("clockSkew") ?? 0);
    const goneAt = (isPurged ? submittedAt : endedAt) + retentionMs - skewMs;
    if (status === 404 && job.expiresAt === null && world.elapsedMs < goneAt) violate(`${jobId} is gone`);
  }

  #chooseForm(): Form {
    const { random } = this.#parts.world;
    const method = random.chance(0.1) ? "POST" : "GET";
    if (random.chance(0.7)) return { ...AT_ONCE, method };
    const waitMs = random.pick([1_000, 5_000, 20_000]);
    return { method, operation: random.pick(["status", "status-sync"]), query: `?wait=${waitMs}`, waitMs };
  }

  /** One that waits is answered when the job has ended, or after its time. */
  #checkWait({ jobId }: KnownJob, { status, body }: Answer, { waitMs }: Form, sentAt: number): void {
    const { world, hasDelays, violate, endedAt } = this.#parts;
    if (status !== 200) return;
    const state = String(body["status"]);
    const waitedMs = world.elapsedMs - sentAt;
    if (OPEN.has(state) && waitedMs < waitMs)
      violate(`${jobId} is ${state} after ${waitedMs} ms, which is to wait for ${waitMs} ms`);
    if (hasDelays) return;
    const endMs = OPEN.has(state) ? waitMs : Math.max(0, endedAt(jobId) - sentAt);
    const lateMs = waitedMs - Math.min(waitMs, endMs);
    if (lateMs > PROMPT_MS) violate(`a client has heard that ${jobId} is ${state} ${lateMs} ms late`);
  }

  async cancelAny(): Promise<void> {
    const job = this.#parts.known.any();
    if (job) await this.cancel(job);
  }

  async cancel(job: KnownJob): Promise<void> {
    const { known } = this.#parts;
    job.isCancelRequested = true;
    const answer = await known.ask("cancel", job, "POST", "cancel");
    if (answer) known.learn(job, answer);
  }

  /** Mostly of jobs that can be retried, as far as is known; else one learns of more of them. */
  async retryAny(): Promise<void> {
    const { world, known } = this.#parts;
    const failed = known.all().filter(isFailed);
    const job = failed.length > 0 ? world.random.pick(failed) : known.any();
    if (!job) return;
    if (failed.length === 0) await this.read(job);
    else await this.retry(job);
  }

  async retry(job: KnownJob): Promise<void> {
    job.isRetryRequested = true;
    await this.#parts.known.ask("retry", job, "POST", "retry");
  }
}

/** Whether that is the last that a client has read. */
export function isFailed({ read }: KnownJob): boolean {
  return RETRYABLE.has(read.at(-1) ?? "");
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

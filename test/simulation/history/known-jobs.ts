/** The jobs that clients know: what they asked and heard of each, and whether that can be true. */
import type { World } from "../world/world.ts";
import type { Answer, KnownJob, SimulatedClient } from "./client.ts";
import type { ClaimOrder } from "./claim-order.ts";
import type { JobCall } from "./linearizability.ts";
import type { Outputs } from "./outputs.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Purges } from "./purges.ts";

export type KnownJobsParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  /** With whom it shares its jobs. */
  readonly clients: readonly SimulatedClient[];
  readonly purges: Purges;
  readonly claimOrder: ClaimOrder;
  readonly outputs: Pick<Outputs, "check">;
  /** Something that no correct service answers. */
  readonly violate: (what: string) => void;
};

export type NewJob = Pick<KnownJob, "endpointId" | "jobId" | "input" | "hook" | "submittedAt" | "expiresAt">;

export class KnownJobs {
  readonly #parts: KnownJobsParts;

  constructor(parts: KnownJobsParts) {
    this.#parts = parts;
  }

  /** Those of all clients. */
  all(): KnownJob[] {
    return this.#parts.clients.flatMap(({ jobs }) => jobs);
  }

  any(): KnownJob | undefined {
    const jobs = this.all();
    return jobs.length === 0 ? undefined : this.#parts.world.random.pick(jobs);
  }

  add({ endpointId, jobId, input, hook, submittedAt, expiresAt }: NewJob): KnownJob {
    const { client } = this.#parts;
    const known = client.jobs.find((job) => job.jobId === jobId);
    if (known) return known;
    const job = {
      endpointId,
      jobId,
      input,
      hook,
      submittedAt,
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

  /** A call about a job, which is noted with what is answered. */
  async ask(
    kind: JobCall["kind"],
    job: KnownJob,
    method: string,
    operation: string,
    query = "",
  ): Promise<Answer | undefined> {
    const { client, world } = this.#parts;
    const call = { kind, sentAt: world.elapsedMs, answer: null as JobCall["answer"] };
    // A read that nobody hears of says nothing.
    if (kind !== "read") job.calls.push(call);
    const answer = await client.call(method, `/v2/${job.endpointId}/${operation}/${job.jobId}${query}`);
    const isHeard = answer?.status === 200 || (kind === "retry" && answer?.status === 409);
    if (!isHeard) return answer;
    call.answer = {
      at: world.elapsedMs,
      status: answer.status === 200 ? String(answer.body["status"]) : null,
    };
    if (kind === "read") job.calls.push(call);
    this.#hearPlace(job, answer, call.sentAt);
    return answer;
  }

  #hearPlace({ endpointId, jobId }: KnownJob, { body }: Answer, sentAt: number): void {
    const { queue } = body as { readonly queue?: { readonly position: number } };
    if (queue) this.#parts.claimOrder.heard(endpointId, jobId, queue.position, sentAt);
  }

  /** What an answer says of the job. */
  learn(job: KnownJob, { status, body }: Answer): void {
    if (status !== 200) return;
    const { violate } = this.#parts;
    const next = String(body["status"]);
    job.read.push(next);
    const isCancellable = job.isCancelRequested || this.mayBePurged(job);
    if (next === "CANCELLED" && !isCancellable) violate(`${job.jobId} was cancelled by nobody`);
    if (next === "COMPLETED" && "output" in body) this.#learnOutput(job, body["output"]);
  }

  mayBePurged({ endpointId, submittedAt }: KnownJob): boolean {
    return this.#parts.purges.mayHaveCancelled(endpointId, submittedAt);
  }

  #learnOutput(job: KnownJob, output: unknown): void {
    const { violate, outputs } = this.#parts;
    outputs.check(job.jobId, output, "a client");
    const { of } = (output ?? {}) as { readonly of?: unknown };
    if (JSON.stringify(of) !== JSON.stringify(job.input))
      violate(`${job.jobId} has the output of another job`);
    const text = JSON.stringify(output);
    if (job.output !== undefined && job.output !== text) violate(`${job.jobId} has two outputs`);
    job.output = text;
  }

  /** How far the clocks of two servers may differ. */
  get #skewMs(): number {
    return 2 * (this.#parts.plan.faults.get("clockSkew") ?? 0);
  }

  hasExpired({ expiresAt }: KnownJob): boolean {
    return expiresAt !== null && this.#parts.world.elapsedMs > expiresAt + this.#skewMs;
  }

  mayHaveExpired({ expiresAt }: KnownJob): boolean {
    return expiresAt !== null && this.#parts.world.elapsedMs >= expiresAt - this.#skewMs;
  }
}

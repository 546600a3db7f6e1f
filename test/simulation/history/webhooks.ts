/** What holds of webhooks: what they say of the ends of jobs, how often they come, and when they are given up. */
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { JobChange, ObjectStorage } from "../runtime/storage.ts";
import { START_AT, type World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import { endpointOf, neverClaimedJobs } from "./endpoint-rows.ts";
import type { HookCall, HookReceiver } from "./hooks.ts";
import type { Outputs } from "./outputs.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Purges } from "./purges.ts";

export type WebhooksParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly clients: readonly SimulatedClient[];
  readonly hooks: HookReceiver;
  readonly purges: Purges;
  readonly outputs: Outputs;
  readonly plan: HistoryPlan;
  readonly violate: (what: string) => void;
};

/** A call that was taken, and whether its sender has stored what it heard of it. */
type Taken = { readonly call: HookCall; isStored: boolean };

/** A client asks for a webhook once more. */
type Redelivery = { readonly nonce: string; readonly calledAt: number; isAccepted: boolean };

/** A webhook in the outbox; its next attempt is null when there will be none. */
type Delivery = {
  readonly seq: number;
  readonly end: number;
  readonly nextAt: number | null;
  readonly attempts: readonly { readonly statusCode?: number }[];
};

type JobRow = {
  readonly seq: number;
  readonly nonce: string;
  readonly state: string;
  readonly retries: number;
  readonly url: string | null;
  /** Of the outbox, where its end is; 0 for none. */
  readonly page: number | null;
  readonly finished_at: number;
  readonly expires_at: number;
  readonly remove_at: number | null;
};

/** Calls for one end of a job until it is given up, as docs/how-to/webhooks.md says. */
const ATTEMPTS = 3;
/** Outcomes are written within a moment, together with others; this is longer. */
const STORED_MS = 1_000;
const JOBS = `
  SELECT seq, nonce, state, retries, expires_at, remove_at, finished_at, webhook_page AS page, iif(webhook_page IS NULL, NULL, options ->> '$.webhook') AS url
    FROM job WHERE finished_at IS NOT NULL`;
const STATUS: Readonly<Record<string, string>> = {
  completed: "COMPLETED",
  failed: "FAILED",
  timed_out: "TIMED_OUT",
  cancelled: "CANCELLED",
};

export class Webhooks {
  readonly #parts: WebhooksParts;
  /** The last row of each job, by how often it was queued again when it ended. */
  readonly #ends = new Map<string, JobChange>();
  readonly #taken = new Map<string, Taken[]>();
  readonly #notStored = new Set<Taken>();
  readonly #redeliveries: Redelivery[] = [];

  constructor(parts: WebhooksParts) {
    this.#parts = parts;
    parts.hooks.onTaken = (call, told) => this.#checkCall(call, told);
  }

  /** An end that is not durable may get lost with its object, and then be another one; but nobody was told of it. */
  jobChanged(change: JobChange): void {
    if (change.finishedAt !== null) this.#ends.set(keyOf(change.nonce, change.retries), change);
  }

  /** To be called just before the call is made. */
  redeliveryCalled(nonce: string): Redelivery {
    const redelivery = { nonce, calledAt: this.#parts.world.now, isAccepted: false };
    this.#redeliveries.push(redelivery);
    return redelivery;
  }

  /** Whether a client has asked for the webhook of the job once more. */
  isAskedFor(nonce: string): boolean {
    return this.#redeliveries.some((one) => one.nonce === nonce);
  }

  /** Of the job, for any of its ends: calls that were taken; and those whose senders have stored that. */
  takenCount(nonce: string): number {
    return this.#takenOf(nonce).length;
  }

  heardCount(nonce: string): number {
    return this.#takenOf(nonce).filter(({ isStored, call }) => isStored && call.heardAt !== null).length;
  }

  #takenOf(nonce: string): Taken[] {
    return [...this.#taken].flatMap(([key, taken]) => (key.startsWith(`${nonce} `) ? taken : []));
  }

  checkStep(): void {
    const { now } = this.#parts.world;
    for (const taken of this.#notStored) {
      const { heardAt, sender, life } = taken.call;
      if (sender.life === life && (heardAt === null || now < heardAt + STORED_MS)) continue;
      taken.isStored = sender.life === life;
      this.#notStored.delete(taken);
    }
  }

  /** The last ends of jobs that no webhook has told yet, but for those that were tried often enough. */
  *missing(): Generator<string> {
    const ended = [...this.#objects()].flatMap(({ name, storage }) =>
      jobsIn(storage).map((job) => ({ name, storage, job })),
    );
    for (const { name, storage, job } of ended) {
      const { nonce, state, retries, url } = job;
      if (url === null || this.#taken.has(keyOf(nonce, retries)) || this.#mayBeGone(job)) continue;
      if (state === "cancelled" && this.#mayBePurged(name, job)) continue;
      if (!isGivenUpFor(storage, job)) yield `no webhook came to ${url} for end ${retries}`;
    }
    const urls = new Set(ended.map(({ job }) => job.url));
    const purged = new Set([...this.#objects()].flatMap(({ storage }) => purgedNonces(storage)));
    for (const { jobId, hook } of this.#parts.clients.flatMap(({ jobs }) => jobs))
      if (hook !== null && !urls.has(hook) && !purged.has(decodeJobId(jobId)?.nonce ?? ""))
        yield `${jobId} has not ended with its webhook ${hook}`;
    for (const { storage, job } of ended) yield* this.#missingAgain(storage, job);
  }

  /** No webhook is given up before its last attempt, unless its job is gone or was queued again. */
  checkEnd(): void {
    for (const { name, storage } of this.#objects()) {
      const jobs = jobsIn(storage);
      for (const delivery of deliveriesIn(storage)) {
        const isNeeded = jobs.some(
          (job) => job.seq === delivery.seq && job.retries === delivery.end && !this.#mayBeGone(job),
        );
        if (isNeeded && isGivenUp(delivery) && delivery.attempts.length < ATTEMPTS)
          this.#parts.violate(`${name} gave up a webhook too soon: ${JSON.stringify(delivery)}`);
      }
    }
  }

  /** What a client has asked for once more, of the last end of the job. */
  *#missingAgain(storage: ObjectStorage, job: JobRow): Generator<string> {
    const { nonce, retries, seq } = job;
    const asked = this.#redeliveries.filter((one) => one.nonce === nonce);
    if (asked.length === 0 || this.#mayBeGone(job)) return;
    const delivery = deliveriesIn(storage).find((one) => one.seq === seq && one.end === retries);
    if (delivery && delivery.nextAt !== null) yield `the webhook of job ${seq} is still to be sent once more`;
    const isFailed = delivery?.attempts.at(-1)?.statusCode !== 200;
    const calls = this.#taken.get(keyOf(nonce, retries)) ?? [];
    for (const { calledAt, isAccepted } of asked) {
      const isSent = calls.some(({ call }) => Math.max(call.sentAt, call.heardAt ?? Infinity) >= calledAt);
      if (isAccepted && !isFailed && !isSent) yield `the webhook of job ${seq} did not come once more`;
    }
  }

  #objects() {
    return this.#parts.edge.endpoints.objects.values();
  }

  /** No webhook tells of what a purge has cancelled. */
  #mayBePurged(name: string, { page, finished_at: finishedAt }: JobRow): boolean {
    const { purges, plan } = this.#parts;
    const skewMs = 2 * (plan.faults.get("clockSkew") ?? 0);
    return page === 0 && purges.mayHaveCancelled(endpointOf(name), finishedAt - START_AT - skewMs);
  }

  /** Whether it may have expired for some clock: then nothing is sent any more. */
  #mayBeGone({ expires_at: expiresAt, remove_at: removeAt }: JobRow): boolean {
    const skewMs = 2 * (this.#parts.plan.faults.get("clockSkew") ?? 0);
    return this.#parts.world.now + skewMs >= Math.min(expiresAt, removeAt ?? Infinity);
  }

  #checkCall(call: HookCall, told: Record<string, unknown>): void {
    const [, jobId = "", end = ""] = /^msg_(.*)_(\d+)$/.exec(call.id) ?? [];
    const key = keyOf(decodeJobId(jobId)?.nonce, Number(end));
    this.#checkRepeat(key, call);
    const change = this.#ends.get(key);
    if (!change) return this.#parts.violate(`a webhook tells of an end that no job had: ${call.id}`);
    const expected = { id: jobId, webhook: call.url, ...viewOf(change) };
    const said = { ...told, retries: told["retries"] ?? 0 } as Record<string, unknown>;
    for (const [name, value] of Object.entries(expected))
      if (JSON.stringify(said[name]) !== JSON.stringify(value))
        this.#parts.violate(
          `webhook ${call.id} says ${name} ${JSON.stringify(said[name])}, not ${JSON.stringify(value)}`,
        );
    this.#checkPayloads(call, change, told);
  }

  #checkPayloads({ id }: HookCall, { after, output, input }: JobChange, told: Record<string, unknown>): void {
    const said = JSON.stringify(told["output"]);
    if (isInline(input) && JSON.stringify(told["input"]) !== JSON.stringify(JSON.parse(input)))
      this.#parts.violate(`webhook ${id} has the input of another job`);
    const wanted = isInline(output) ? JSON.stringify(JSON.parse(output)) : undefined;
    if ((output === null || isInline(output)) && said !== wanted)
      this.#parts.violate(`webhook ${id} has the output ${said}, not ${wanted}`);
    // A large one is in R2.
    if (after === "completed") this.#parts.outputs.check(String(told["id"]), told["output"], `webhook ${id}`);
    const { of } = (told["output"] ?? {}) as { readonly of?: unknown };
    if (after === "completed" && JSON.stringify(of) !== JSON.stringify(told["input"]))
      this.#parts.violate(`webhook ${id} has the output of another input`);
  }

  /**
   * A webhook that was taken comes again only if the object that sent it did not learn of that, or lost its memory
   * before it could store it, or a client asks for it once more. What it had sent before it learned of it may come at
   * any time.
   */
  #checkRepeat(key: string, call: HookCall): void {
    const all = this.#taken.get(key) ?? [];
    const known = all.filter(({ call: earlier, isStored }) => {
      const isHeardBefore = earlier.heardAt !== null && earlier.heardAt < call.sentAt;
      const isForgotten = !isStored && earlier.sender.life !== earlier.life;
      return isHeardBefore && !isForgotten;
    });
    if (known.length > this.#redeliveriesOf(key, call.sentAt))
      this.#parts.violate(`webhook ${call.id} came again, though it had been taken`);
    const taken = { call, isStored: false };
    this.#taken.set(key, [...all, taken]);
    this.#notStored.add(taken);
  }

  /** How often a client has asked for it before. */
  #redeliveriesOf(key: string, at: number): number {
    const asked = this.#redeliveries.filter(
      ({ nonce, calledAt }) => key.startsWith(`${nonce} `) && calledAt <= at,
    );
    return asked.length * (this.#parts.plan.faults.has("requestsRepeated") ? 2 : 1);
  }
}

function jobsIn(storage: ObjectStorage): readonly JobRow[] {
  return storage.select(JOBS) as JobRow[];
}

/** Nonces of jobs that were purged before a worker had them: their rows do not say so. */
function purgedNonces(storage: ObjectStorage): readonly string[] {
  return neverClaimedJobs(storage).flatMap(({ nonce, isPurged }) => (isPurged ? [nonce] : []));
}

function deliveriesIn(storage: ObjectStorage): readonly Delivery[] {
  return storage
    .rowsOf("webhook_page")
    .flatMap(({ deliveries }) => JSON.parse(String(deliveries)) as Delivery[]);
}

function isGivenUpFor(storage: ObjectStorage, { seq, retries }: JobRow): boolean {
  return deliveriesIn(storage).some((one) => one.seq === seq && one.end === retries && isGivenUp(one));
}

/** An end of a job, by how often the job was queued again before. */
function keyOf(nonce: string | undefined, retries: number): string {
  return `${nonce} ${retries}`;
}

function isGivenUp({ nextAt, attempts }: Delivery): boolean {
  return nextAt === null && attempts.every(({ statusCode }) => statusCode !== 200);
}

function isInline(payload: string | null): payload is string {
  return payload?.startsWith("{") === true;
}

/** What a webhook has to say of the end, beside payloads. */
function viewOf({ after, workerId, queuedAt, startedAt, finishedAt, error, retries }: JobChange) {
  const begunAt = startedAt ?? finishedAt ?? 0;
  return {
    status: STATUS[after],
    delayTime: begunAt - queuedAt,
    executionTime: (finishedAt ?? 0) - begunAt,
    workerId: workerId ?? "",
    error: error ?? undefined,
    retries,
  };
}

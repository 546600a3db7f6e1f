/**
 * Random histories of claims on real storage, with memory lost at random places, against a model that knows each job:
 * jobs are claimed in their order, each by one worker, and a loss of memory changes nothing.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { test, type ExpectStatic } from "vitest";
import { queuedJob, transition, type StoredJob, type JobEvent } from "../../src/domain/jobs/job-machine.ts";
import { PRIORITIES, priorityOf, type Priority } from "../../src/domain/jobs/priorities.ts";
import { ObjectDatabase } from "../../src/durable/sql.ts";
import { FactStore } from "../../src/endpoint/facts/fact-store.ts";
import { Claims, type StoredClaims, type UnwrittenClaims } from "../../src/endpoint/queue/claims.ts";
import { JobStore, type QueueEntry } from "../../src/endpoint/queue/job-store.ts";
import { ENDPOINT_MIGRATIONS } from "../../src/endpoint/schema.ts";

const RUNS = Number(env.MODEL_RUNS);
const NOW = 1_800_000_000_000;
const SETTINGS = { isSync: false, executionTimeoutMs: 600_000, retentionMs: 60_000, ttlMs: 3_600_000 };
const REQUEST = { input: { kind: "inline", json: "1" }, optionsJson: "{}" } as const;
const NO_EXTRAS = { idempotencyKey: null, hasWebhook: false, storedTotal: 0 };

type Step =
  | { readonly kind: "add"; readonly priority: Priority; readonly count: number }
  | { readonly kind: "claim"; readonly host: string; readonly count: number }
  | { readonly kind: "complete" | "undeliver" | "cancel"; readonly pick: number }
  | { readonly kind: "purge" | "forget" };

/** What a job should be. */
type Expected = { state: StoredJob["state"]; attempt: number; workerId: string | null };

class History {
  readonly jobs = new Map<number, Expected>();
  readonly #store: JobStore;
  readonly #facts: FactStore;
  readonly #expect: ExpectStatic;
  claims: Claims;
  #checkpoint: StoredClaims | undefined;
  #workers = 0;
  #now = NOW;

  constructor(sql: SqlStorage, expect: ExpectStatic) {
    const database = new ObjectDatabase(sql);
    this.#store = new JobStore(database, { shard: 0 });
    this.#facts = new FactStore(database);
    this.#expect = expect;
    this.claims = this.#open();
  }

  #open(): Claims {
    return new Claims(this.#store, this.#facts.map<UnwrittenClaims>("claims:"));
  }

  /** One turn, whose end writes what no row tells; a checkpoint is written when L1 asks for it. */
  take(step: Step): void {
    this.#now += 1;
    const needsCheckpoint = this.#perform(step);
    this.claims.persist();
    if (needsCheckpoint) this.#checkpoint = structuredClone(this.claims.stored);
    this.#compare();
  }

  #perform(step: Step): boolean {
    switch (step.kind) {
      case "add":
        for (let count = 0; count < step.count; count += 1) this.#add(step.priority);
        return false;
      case "claim":
        return this.#claim(step.host, step.count);
      case "complete":
        this.#end(this.#pick("running", step.pick), "completed");
        return false;
      case "undeliver":
        return this.#end(this.#pick("running", step.pick), "queued");
      case "cancel":
        return this.#end(this.#pick("queued", step.pick), "cancelled");
      case "purge":
        return this.#purge();
      case "forget":
        this.claims = this.#open();
        this.claims.recover(this.#checkpoint);
        return false;
    }
  }

  #add(priority: Priority): void {
    const seq = this.claims.add(priority);
    this.#expect(this.jobs.has(seq)).toBe(false);
    const job = queuedJob(SETTINGS, this.#now);
    this.#store.insert({ seq, nonce: "00", shard: 0, job }, REQUEST, NO_EXTRAS);
    this.jobs.set(seq, { state: "queued", attempt: 0, workerId: null });
  }

  /** True when a requeued job was claimed. */
  #claim(hostId: string, count: number): boolean {
    let needsCheckpoint = false;
    for (let left = count; left > 0; left -= 1) {
      const { jobs, kind } = this.claims.next(1, this.queued);
      const [next] = jobs;
      this.#expect(next?.seq).toBe(next && this.#expectedNext(priorityOf(next.seq)));
      if (!next) {
        this.#expect(this.queued).toEqual({ normal: 0, low: 0 });
        break;
      }
      const taker = { hostId, workerId: `worker-${(this.#workers += 1)}` };
      const claimed = this.claims.claim(next, kind, taker, this.queued, this.#now);
      this.claims.start(claimed.seq, claimed.job, kind);
      const { attempt } = claimed.job;
      this.jobs.set(claimed.seq, { state: "running", attempt, workerId: taker.workerId });
      needsCheckpoint ||= kind === "requeued";
    }
    return needsCheckpoint;
  }

  /** Requeued jobs go first; the others follow in the order in which they were added. */
  #expectedNext(priority: Priority): number | undefined {
    const queued = [...this.jobs].filter(
      ([seq, { state }]) => state === "queued" && priorityOf(seq) === priority,
    );
    const [first] = queued.toSorted(
      ([a, one], [b, other]) => Number(one.attempt === 0) - Number(other.attempt === 0) || a - b,
    );
    return first?.[0];
  }

  /** Moves a job to another state by a guarded write; true when L1 asks for a checkpoint. */
  #end(seq: number | undefined, state: "completed" | "queued" | "cancelled"): boolean {
    const row = seq === undefined ? undefined : this.#store.find(seq);
    if (!row) return false;
    const before = this.claims.asItStands(row);
    const after = this.#move(before, eventTo(state, before.job.attempt));
    this.claims.end(before.seq);
    if (state === "queued") this.claims.addRequeued(before.seq);
    else if (before.job.state === "queued") this.claims.removeRequeued(before.seq);
    this.jobs.set(before.seq, { state, attempt: after.attempt, workerId: after.workerId });
    return before.job.state !== "running" || state === "queued";
  }

  #move(stored: QueueEntry, event: JobEvent): StoredJob {
    const verdict = transition(stored.job, event, this.#now);
    if (verdict.kind === "refused") throw new Error(`Refused: ${verdict.reason}.`);
    this.#expect(this.#store.save(stored.seq, this.claims.rowOf(stored), verdict.job)).toBeDefined();
    return verdict.job;
  }

  #purge(): boolean {
    for (const priority of PRIORITIES) {
      for (const { seq } of this.claims.requeuedJobs(priority, this.jobs.size)) this.#end(seq, "cancelled");
    }
    this.claims.purge(this.#now, 0);
    for (const expected of this.jobs.values()) {
      if (expected.state === "queued") expected.state = "cancelled";
    }
    return true;
  }

  #pick(state: StoredJob["state"], pick: number): number | undefined {
    const seqs = [...this.jobs].filter(([, expected]) => expected.state === state).map(([seq]) => seq);
    return seqs[pick % Math.max(1, seqs.length)];
  }

  get queued(): Record<Priority, number> {
    const queued = { normal: 0, low: 0 };
    for (const [seq, { state }] of this.jobs) if (state === "queued") queued[priorityOf(seq)] += 1;
    return queued;
  }

  /** Every job is as expected, and the leases are those of the running jobs. */
  #compare(): void {
    const running = new Map([...this.jobs].filter(([, { state }]) => state === "running"));
    const leases = [...this.claims.running.values()];
    const workers = leases.map(({ seq, attempt, workerId }) => [
      seq,
      { state: "running", attempt, workerId },
    ]);
    this.#expect(new Map(workers as [number, Expected][])).toEqual(running);
    this.#expect([...this.claims.workers.counts.keys()].toSorted()).toEqual(
      leases.map(({ workerId }) => workerId).toSorted(),
    );
    const runningIn = { normal: 0, low: 0 };
    for (const seq of running.keys()) runningIn[priorityOf(seq)] += 1;
    this.#expect(this.claims.runningIn).toEqual(runningIn);
    for (const [seq, expected] of this.jobs) {
      const row = this.#store.find(seq);
      const job = row && this.claims.asItStands(row).job;
      this.#expect({ state: job?.state, attempt: job?.attempt, workerId: job?.workerId }).toEqual(expected);
    }
  }
}

function eventTo(state: "completed" | "queued" | "cancelled", attempt: number): JobEvent {
  switch (state) {
    case "completed":
      return { kind: "complete", attempt, output: null };
    case "queued":
      return { kind: "undeliver", attempt };
    case "cancelled":
      return { kind: "cancel" };
  }
}

const STEPS: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("add" as const),
    priority: fc.constantFrom(...PRIORITIES),
    count: fc.integer({ min: 1, max: 6 }),
  }),
  fc.record({
    kind: fc.constant("claim" as const),
    host: fc.constantFrom("host-a", "host-b"),
    count: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({
    kind: fc.constantFrom("complete" as const, "undeliver" as const, "cancel" as const),
    pick: fc.nat({ max: 50 }),
  }),
  fc.record({ kind: fc.constantFrom("purge" as const, "forget" as const, "forget" as const) }),
);

test("claims continue after a loss of memory", async ({ expect }) => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEPS, { minLength: 5, maxLength: 40 }), async (steps) => {
      const stub = env.ENDPOINT.getByName(crypto.randomUUID());
      await runInDurableObject(stub, (_, { storage }) => {
        new ObjectDatabase(storage.sql).migrate(ENDPOINT_MIGRATIONS);
        const history = new History(storage.sql, expect);
        for (const step of steps) history.take(step);
      });
    }),
    { numRuns: RUNS },
  );
});

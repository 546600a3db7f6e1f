/**
 * Random histories of the outbox on real storage, with memory lost at random places, against what must hold:
 * every end is delivered or given up, nothing else is delivered, and nothing is left behind.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { test } from "vitest";
import {
  stateOfDelivery,
  WEBHOOK_ATTEMPTS,
  WEBHOOK_RETRY_MS,
} from "../../src/domain/webhooks/webhook-delivery.ts";
import { ObjectDatabase } from "../../src/durable/sql.ts";
import { ENDPOINT_MIGRATIONS } from "../../src/endpoint/schema.ts";
import type { NotedEnd } from "../../src/endpoint/queue/queue.ts";
import { WebhookOutbox } from "../../src/endpoint/webhooks/webhook-outbox.ts";
import { WebhookStore } from "../../src/endpoint/webhooks/webhook-store.ts";

const HOSTS = ["a.example", "b.example", "c.example"];
const LIFE_MS = 3_600_000;
const RUNS = Number(env.MODEL_RUNS);

type Step =
  | { readonly kind: "end"; readonly count: number; readonly host: string }
  | { readonly kind: "send"; readonly statusCode: number }
  | { readonly kind: "retry"; readonly pick: number }
  | { readonly kind: "remove"; readonly pick: number }
  | { readonly kind: "redeliver"; readonly pick: number }
  | { readonly kind: "flush" | "checkpoint" | "forget" | "wait" };

type EndedJob = {
  end: number;
  page: number;
  webhook: string;
  goneAt: number;
  codes: number[];
  isWithdrawn: boolean;
};

class History {
  readonly #store: WebhookStore;
  outbox: WebhookOutbox;
  readonly jobs = new Map<number, EndedJob>();
  /** Jobs that have ended since the last checkpoint: the ledger finds these again, and others that it has found before. */
  #sinceCheckpoint = new Set<number>();
  now = 1_000_000;
  #nextSeq = 1;
  #ends = 0;

  constructor(store: WebhookStore) {
    this.#store = store;
    this.outbox = new WebhookOutbox(store);
    this.outbox.recover([], this.now);
  }

  take(step: Step): void {
    switch (step.kind) {
      case "end":
        for (let count = 0; count < step.count; count += 1) this.#end(this.#nextSeq++, 0, step.host);
        this.outbox.save();
        return;
      case "send":
        this.send(step.statusCode);
        return;
      case "retry":
        this.#retry(step.pick);
        return;
      case "remove":
        this.#remove(step.pick);
        return;
      case "redeliver":
        this.#redeliver(step.pick);
        return;
      case "flush":
        this.outbox.flush();
        this.outbox.save();
        return;
      case "checkpoint":
        this.outbox.flushAll();
        this.outbox.save();
        this.#sinceCheckpoint.clear();
        return;
      case "forget":
        this.outbox = new WebhookOutbox(this.#store);
        this.outbox.recover(this.#found(), this.now);
        return;
      case "wait":
        this.now += WEBHOOK_RETRY_MS + 1_000;
        return;
    }
  }

  /** As the rows of the jobs have them: one that was queued again names no page. */
  #found(): NotedEnd[] {
    return [...this.#sinceCheckpoint].flatMap((seq) => {
      const job = this.jobs.get(seq);
      if (!job || job.isWithdrawn) return [];
      const { end, page, webhook, goneAt } = job;
      return [{ seq, end, page, webhook: () => webhook, goneAt }];
    });
  }

  /** Sends what is due first; false when nothing is. */
  send(statusCode: number): boolean {
    const delivery = this.outbox.take(this.now, ([host]) => host);
    if (!delivery) return false;
    const job = this.jobs.get(delivery.seq);
    const isPending = job?.end === delivery.end && !job.isWithdrawn; // as the sender asks the job's row
    if (isPending) job.codes.push(statusCode);
    this.outbox.settle(delivery, isPending ? { at: this.now, durationMs: 1, statusCode } : null, this.now);
    return true;
  }

  /** Sends all that is due; each delivery is due once at most, as the clock stands still. */
  sendAll(statusCode: number): void {
    for (let count = 0; this.send(statusCode); count += 1) {
      if (count === this.#ends) throw new Error("Deliveries are due again at once.");
    }
  }

  stateOf(seq: number): string {
    const job = this.jobs.get(seq);
    const delivery = job && this.outbox.find(job.page, seq, job.end);
    return delivery ? stateOfDelivery(delivery) : "none";
  }

  #end(seq: number, end: number, host: string): void {
    this.#ends += 1;
    const page = this.outbox.pageFor(this.now);
    const goneAt = this.now + LIFE_MS;
    const webhook = `https://${host}/`;
    this.outbox.add({ seq, end, webhook, goneAt }, this.now);
    this.jobs.set(seq, { end, page, webhook, goneAt, codes: [], isWithdrawn: false });
    this.#sinceCheckpoint.add(seq);
  }

  /** The job is queued again, and ends again when it was queued again already. */
  #retry(pick: number): void {
    const [seq, job] = [...this.jobs][pick % Math.max(1, this.jobs.size)] ?? [];
    if (seq === undefined || !job) return;
    if (job.isWithdrawn) this.#end(seq, job.end + 1, HOSTS[0] ?? "");
    else job.isWithdrawn = true; // its sender will see it
    this.take({ kind: "checkpoint" });
  }

  #remove(pick: number): void {
    const [seq] = [...this.jobs.keys()].slice(pick % Math.max(1, this.jobs.size));
    if (seq === undefined) return;
    this.outbox.withdraw(seq);
    this.jobs.delete(seq);
    this.take({ kind: "checkpoint" });
  }

  #redeliver(pick: number): void {
    const [seq, job] = [...this.jobs][pick % Math.max(1, this.jobs.size)] ?? [];
    if (seq === undefined || !job || job.isWithdrawn) return;
    this.outbox.redeliver(job.page, seq, job.end, this.now);
    job.codes.length = 0;
    this.outbox.save();
  }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("end" as const),
    count: fc.integer({ min: 1, max: 70 }),
    host: fc.constantFrom(...HOSTS),
  }),
  fc.record({ kind: fc.constant("send" as const), statusCode: fc.constantFrom(200, 204, 302, 500) }),
  fc.record({ kind: fc.constant("send" as const), statusCode: fc.constantFrom(200, 500) }),
  fc.record({ kind: fc.constant("retry" as const), pick: fc.nat(300) }),
  fc.record({ kind: fc.constant("retry" as const), pick: fc.nat(5) }),
  fc.record({ kind: fc.constant("remove" as const), pick: fc.nat(300) }),
  fc.record({ kind: fc.constant("redeliver" as const), pick: fc.nat(300) }),
  fc.constantFrom<Step>({ kind: "flush" }, { kind: "checkpoint" }, { kind: "forget" }, { kind: "wait" }),
);

type Pages = { readonly store: WebhookStore; readonly count: () => number; readonly clear: () => void };

/** Runs `work` with an empty outbox in the storage of a fresh object. */
async function withPages(work: (pages: Pages) => void): Promise<void> {
  const stub = env.ENDPOINT.getByName(`${crypto.randomUUID()}#0`);
  await runInDurableObject(stub, (_, { storage }) => {
    const database = new ObjectDatabase(storage.sql);
    database.migrate(ENDPOINT_MIGRATIONS);
    const count = () => Number(storage.sql.exec("SELECT count(*) AS count FROM webhook_page").one()["count"]);
    const clear = () => void storage.sql.exec("DELETE FROM webhook_page");
    work({ store: new WebhookStore(database), count, clear });
    clear();
  });
}

test(
  "every end is delivered or dropped, and nothing is left behind",
  { timeout: 600_000 },
  async ({ expect }) => {
    await withPages(({ store, count, clear }) => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
          clear(); // what a failed run left, which the search for a shorter one would meet
          const history = new History(store);
          for (const one of steps) history.take(one);
          for (let round = 0; round < WEBHOOK_ATTEMPTS; round += 1) {
            history.sendAll(500);
            history.take({ kind: "wait" });
          }
          history.take({ kind: "flush" });
          history.take({ kind: "forget" }); // what is known now, storage knows
          for (const [seq, { codes, isWithdrawn }] of history.jobs) {
            if (isWithdrawn) continue;
            // Calls whose outcomes were lost with memory are made again, so there may be more of them.
            const good = codes.filter((code) => code >= 200 && code < 300).length;
            const state = history.stateOf(seq);
            expect([seq, state]).toEqual([seq, state === "delivered" ? "delivered" : "failed"]);
            if (state === "delivered") expect(good).toBeGreaterThan(0);
            else expect(codes.length - good).toBeGreaterThanOrEqual(WEBHOOK_ATTEMPTS);
          }
          expect(history.outbox.nextAt(history.now)).toBeNull();
          history.outbox.sweep(history.now + 2 * LIFE_MS);
          expect(count()).toBe(0);
        }),
        { numRuns: RUNS },
      );
    });
  },
);

test("hosts take turns, however many deliveries one of them has", async ({ expect }) => {
  await withPages(({ store }) => {
    const history = new History(store);
    history.take({ kind: "end", count: 5, host: "a.example" });
    history.take({ kind: "end", count: 1, host: "b.example" });
    const first = ([host]: Iterable<string>) => host;
    const hosts = [1, 2, 3, 4].map(() => history.outbox.take(history.now, first)?.host);
    expect(hosts).toEqual(["a.example", "b.example", "a.example", "a.example"]);
  });
});

test("page numbers continue after a loss of memory, even when the clock has moved back", async ({
  expect,
}) => {
  await withPages(({ store }) => {
    const history = new History(store);
    history.take({ kind: "end", count: 64, host: "a.example" }); // one full page
    const { now } = history;
    history.now -= 1_000;
    history.take({ kind: "forget" });
    expect(history.outbox.pageFor(history.now)).toBe(now + 1);
    history.take({ kind: "end", count: 1, host: "a.example" });
    expect([1, 65].map((seq) => history.stateOf(seq))).toEqual(["pending", "pending"]);
  });
});

test("page numbers continue after the last page that was closed", async ({ expect }) => {
  await withPages(({ store }) => {
    const history = new History(store);
    history.take({ kind: "end", count: 64, host: "a.example" });
    history.sendAll(200);
    history.take({ kind: "flush" });
    const { now } = history;
    history.now -= 1_000;
    history.take({ kind: "forget" });
    expect(history.outbox.pageFor(history.now)).toBe(now + 1);
  });
});

test("deliveries beyond the limit fail with a reason, and can be redelivered", async ({ expect }) => {
  await withPages(({ store }) => {
    const history = new History(store);
    history.outbox = new WebhookOutbox(store, 2);
    history.take({ kind: "end", count: 3, host: "a.example" });
    expect([1, 2, 3].map((seq) => history.stateOf(seq))).toEqual(["pending", "pending", "failed"]);
    const crowded = history.outbox.find(history.now, 3, 0);
    expect(crowded?.attempts).toMatchObject([{ error: expect.stringContaining("webhooks") }]);
    history.send(200);
    history.outbox.redeliver(history.now, 3, 0, history.now);
    history.sendAll(200);
    expect(history.stateOf(3)).toBe("delivered");
  });
});

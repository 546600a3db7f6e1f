/**
 * The operations with many jobs queued. No worker takes them, so that what is measured is the operation and
 * not the wait for a turn; the claims and the drain are those of one worker at the head of the queue.
 */
import type { CommandedWorker, Contestant } from "../contestants/contestant.ts";
import { JOB_BODY } from "../contestants/handler.ts";
import type { LoadOrder, LoadResult } from "../load/order.ts";
import { type Bench, commanded, interleaved, load, note, noteLatency, type Scenario } from "./bench.ts";

/** The last is as near to the limit of a queue, a million, as leaves room for what is submitted then. */
const DEPTHS = [0, 1_000, 100_000, 995_000] as const;
const QUICK_DEPTHS: readonly number[] = [0, 1_000];

const REQUESTS = 300;
const QUICK_REQUESTS = 100;
const CLIENTS = 64;
const WARM_UP = 400;
/** Jobs that a drain at depth finishes. */
const DRAINED = 2_000;

export const depth: Scenario = {
  name: "depth",
  async run(bench) {
    const able = commanded(bench);
    for (const queued of bench.isQuick ? QUICK_DEPTHS : DEPTHS) {
      await Promise.all(able.contestants.map((contestant) => fill(contestant, queued)));
      for (const contestant of able.contestants) await warmUp(bench, contestant);
      await interleaved(able, async (contestant) => {
        const { worker } = contestant;
        if (worker) await measure(bench, contestant, worker, queued);
      });
      if (queued > 0) await wake(able, queued);
    }
  },
};

async function fill({ name, worker }: Contestant, queued: number): Promise<void> {
  await worker?.pause();
  const startedAt = performance.now();
  await worker?.fillTo(queued);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.log(`  ${name}: ${queued.toLocaleString("en")} jobs queued in ${seconds} s`);
}

/** A service that was restarted to be filled compiles everything again. */
async function warmUp({ driver }: Bench, contestant: Contestant): Promise<void> {
  const submit = { request: SUBMIT, clients: 8, maxRequests: WARM_UP, maxMs: 10_000, isCollecting: true };
  const { ids } = await driver.ask("load", { ...submit, api: contestant.api });
  for (const request of [STATUS, CANCEL]) {
    const order = { request, clients: 8, ids, maxRequests: WARM_UP, maxMs: 60_000 };
    await driver.ask("load", { ...order, api: contestant.api });
  }
}

const SUBMIT = { method: "POST", path: "/run", body: JOB_BODY } as const;
const STATUS = { method: "GET", path: "/status/$ID" } as const;
const CANCEL = { method: "POST", path: "/cancel/$ID" } as const;
const HEALTH = { method: "GET", path: "/health" } as const;

async function measure(
  bench: Bench,
  contestant: Contestant,
  worker: CommandedWorker,
  queued: number,
): Promise<void> {
  const at = `${queued.toLocaleString("en")} queued`;
  const count = bench.isQuick ? QUICK_REQUESTS : REQUESTS;
  const one = async (scenario: string, order: Partial<LoadOrder> & Pick<LoadOrder, "request">) => {
    const condition = { scenario: `${scenario}, 1 client`, variant: at };
    const limits = { clients: 1, maxRequests: count, maxMs: bench.loadMs * 2 };
    const result = await load(bench, contestant, condition, { ...limits, ...order });
    noteLatency(bench, contestant.name, condition, result.latency);
    return result;
  };
  if (queued > 0) await worker.fillTo(queued);
  const { ids } = await one("run", { request: SUBMIT, isCollecting: true });
  await one("status", { request: STATUS, ids, expectedStatus: "IN_QUEUE" });
  await many(
    bench,
    contestant,
    { scenario: "status, 64 clients", variant: at },
    { request: STATUS, ids, areIdsReused: true },
  );
  await one("cancel", { request: CANCEL, ids, expectedStatus: "CANCELLED" });
  await one("health", { request: HEALTH });
  if (queued > 0) await takeFromHead(bench, contestant, worker, at, count);
}

/** Throughput of one operation. */
async function many(
  bench: Bench,
  contestant: Contestant,
  condition: { scenario: string; variant: string },
  order: Pick<LoadOrder, "request" | "ids" | "areIdsReused">,
): Promise<LoadResult> {
  const limits = { clients: CLIENTS, maxRequests: contestant.budget.status, maxMs: bench.loadMs / 2 };
  const result = await load(bench, contestant, condition, { ...limits, ...order });
  note(bench, contestant.name, condition, "requests", "/s", result.perSecond);
  return result;
}

async function takeFromHead(
  bench: Bench,
  contestant: Contestant,
  worker: CommandedWorker,
  variant: string,
  count: number,
): Promise<void> {
  noteLatency(bench, contestant.name, { scenario: "claim, 1 slot", variant }, await worker.claim(count));
  // A small queue must not run empty: what is drained is put back before the next round.
  const condition = { scenario: "run, 64 clients", variant };
  const submitted = await load(bench, contestant, condition, {
    request: SUBMIT,
    clients: CLIENTS,
    maxRequests: DRAINED + count,
    maxMs: bench.loadMs * 10,
  });
  note(bench, contestant.name, condition, "jobs", "/s", submitted.perSecond);
  const seconds = await worker.drain(DRAINED);
  note(bench, contestant.name, { scenario: "drain, 64 slots", variant }, "jobs", "/s", DRAINED / seconds);
}

/** The start after which the first answer is measured makes everything cold: it comes last. */
async function wake(bench: Bench, queued: number): Promise<void> {
  const condition = { scenario: "wake", variant: `${queued.toLocaleString("en")} queued` };
  await interleaved(bench, async (contestant) => {
    const times = await contestant.wake?.();
    if (!times) return;
    note(bench, contestant.name, condition, "first status", "ms", times.full);
    note(bench, contestant.name, condition, "the same, 1 queued", "ms", times.almostEmpty);
  });
}

import fc from "fast-check";
import { test } from "vitest";
import { LOAN_MIN_MS, planLoans, type LoanWorker, type ShardDemand } from "./worker-loans.ts";

const NOW = 1_000_000;
const TERMS = { idleTimeoutMs: 5_000, isScarce: false };

function demand(shard: number, waiting: number, running = 0, oldestQueuedAt = NOW - 100): ShardDemand {
  return { shard, waiting, running, oldestQueuedAt: waiting > 0 ? oldestQueuedAt : null };
}

function worker(workerId: string, shard: number, more: Partial<LoanWorker> = {}): LoanWorker {
  return { workerId, shard, isMoving: false, jobs: 0, movedAt: 0, freeSinceAt: NOW - 1_000, ...more };
}

test("free workers go where most jobs wait for each worker", ({ expect }) => {
  const demands = [demand(0, 0), demand(1, 10), demand(2, 1)];
  const workers = ["a", "b", "c"].map((id) => worker(id, 0));
  const moves = planLoans(demands, workers, TERMS, NOW);
  expect(moves.map(({ to }) => to)).toEqual([1, 1, 1]);
  const fewer = planLoans([demand(0, 0), demand(1, 1), demand(2, 1)], workers, TERMS, NOW);
  expect(new Set(fewer.map(({ to }) => to))).toEqual(new Set([1, 2]));
  expect(fewer).toHaveLength(2);
});

test("workers that move already are counted where they go, and are not moved again", ({ expect }) => {
  const coming = [worker("a", 1, { isMoving: true }), worker("b", 0)];
  expect(planLoans([demand(0, 0), demand(1, 1)], coming, TERMS, NOW)).toEqual([]);
});

test("an object with more than its share gives, and one that has just got a worker keeps it", ({
  expect,
}) => {
  const demands = [demand(0, 10, 4), demand(1, 10, 0)];
  const workers = ["a", "b", "c", "d"].map((id) => worker(id, 0, { jobs: 1 }));
  const moves = planLoans(demands, workers, TERMS, NOW);
  expect(moves.every(({ to }) => to === 1)).toBe(true);
  expect(moves).toHaveLength(1); // 4 × 10/24, rounded down
  const young = workers.map((one) => ({ ...one, movedAt: NOW - LOAN_MIN_MS + 1 }));
  expect(planLoans(demands, young, TERMS, NOW)).toEqual([]);
});

test("one worker goes in turn to the object with the oldest job", ({ expect }) => {
  const demands = [demand(0, 5, 1, NOW - 100), demand(1, 5, 0, NOW - 9_000), demand(2, 5, 0, NOW - 5_000)];
  const moves = planLoans(demands, [worker("a", 0, { jobs: 1 })], TERMS, NOW);
  expect(moves).toEqual([{ workerId: "a", to: 1 }]);
});

test("idle workers return after the idle timeout, or at once where capacity is short", ({ expect }) => {
  const demands = [demand(0, 0), demand(1, 0)];
  const idle = worker("a", 1, { freeSinceAt: NOW - 4_999 });
  expect(planLoans(demands, [idle], TERMS, NOW)).toEqual([]);
  expect(planLoans(demands, [idle], { ...TERMS, isScarce: true }, NOW)).toEqual([{ workerId: "a", to: 0 }]);
  expect(planLoans(demands, [idle], TERMS, NOW + 1)).toEqual([{ workerId: "a", to: 0 }]);
  expect(planLoans([demand(0, 0)], [idle], TERMS, NOW + 1)).toEqual([]); // nobody knows what waits there
});

/** Objects whose queues are served by the workers that they have, one job of each worker in each step. */
class Model {
  readonly waiting: number[];
  readonly #workers: LoanWorker[];
  readonly oldest: number[];
  now = NOW;

  constructor(waiting: readonly number[], workerCount: number) {
    this.waiting = [...waiting];
    this.oldest = waiting.map(() => NOW);
    this.#workers = Array.from({ length: workerCount }, (_, index) => worker(`w${index}`, 0));
  }

  /** Moves workers, then each of them serves a job of its object; returns how many moves there were. */
  step(): number {
    this.now += 1_000;
    const demands = this.waiting.map((count, shard) => demand(shard, count, 0, this.oldest[shard]));
    const moves = planLoans(demands, this.#workers, TERMS, this.now);
    for (const { workerId, to } of moves) {
      const index = this.#workers.findIndex((one) => one.workerId === workerId);
      this.#workers[index] = worker(workerId, to, { movedAt: this.now, freeSinceAt: this.now });
    }
    for (const [index, { shard }] of this.#workers.entries()) this.#serve(index, shard);
    return moves.length;
  }

  #serve(index: number, shard: number): void {
    const served = this.#workers[index];
    if (!served) return;
    const isAtWork = (this.waiting[shard] ?? 0) > 0;
    this.#workers[index] = { ...served, jobs: 0, ...(isAtWork && { freeSinceAt: this.now }) };
    if (!isAtWork) return;
    this.waiting[shard] = (this.waiting[shard] ?? 0) - 1;
    this.oldest[shard] = this.now;
  }
}

test("whatever waits where, all of it is served, in not much more time than one queue would take", ({
  expect,
}) => {
  const queues = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(queues, fc.integer({ min: 1, max: 12 }), (waiting, workerCount) => {
      const model = new Model(waiting, workerCount);
      const total = waiting.reduce((sum, count) => sum + count, 0);
      const ideal = Math.ceil(total / workerCount);
      let steps = 0;
      while (model.waiting.some((count) => count > 0)) {
        model.step();
        steps += 1;
        expect(steps).toBeLessThanOrEqual(2 * ideal + 2 * waiting.length);
      }
    }),
  );
});

test("no worker is moved twice in a plan, none that is moving, and none to where it is", ({ expect }) => {
  const shards = fc.array(fc.record({ waiting: fc.nat(20), running: fc.nat(5), age: fc.nat(10_000) }), {
    minLength: 1,
    maxLength: 6,
  });
  const places = fc.array(
    fc.record({ shard: fc.nat(7), isMoving: fc.boolean(), jobs: fc.nat(3), ageMs: fc.nat(3_000) }),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(shards, places, fc.boolean(), (loads, all, isScarce) => {
      const demands = loads.map(({ waiting, running, age }, shard) =>
        demand(shard, waiting, running, NOW - age),
      );
      const workers = all.map(({ shard, isMoving, jobs, ageMs }, index) =>
        worker(`w${index}`, shard, { isMoving, jobs, movedAt: NOW - ageMs, freeSinceAt: NOW - ageMs }),
      );
      const moves = planLoans(demands, workers, { ...TERMS, isScarce }, NOW);
      expect(new Set(moves.map(({ workerId }) => workerId)).size).toBe(moves.length);
      for (const { workerId, to } of moves) {
        const moved = workers.find((one) => one.workerId === workerId);
        expect(moved?.isMoving).toBe(false);
        expect(moved?.shard).not.toBe(to);
        expect(to).toBeLessThan(Math.max(1, loads.length));
      }
    }),
  );
});

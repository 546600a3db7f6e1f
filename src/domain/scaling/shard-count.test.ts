import fc from "fast-check";
import { test } from "vitest";
import { MERGE_AFTER_MS, planShardCount, SHARD_CALLS_PER_SECOND } from "./shard-count.ts";

const NOW = 1_000_000;
const sample = (active: number, callsPerSecond: number, lowSince: number | null = null) => {
  return { active, callsPerSecond, lowSince, max: 64 };
};

test("an endpoint has one object until one is not enough, and then at most twice as many", ({ expect }) => {
  expect(planShardCount(sample(1, 0), NOW).count).toBe(1);
  expect(planShardCount(sample(1, SHARD_CALLS_PER_SECOND), NOW).count).toBe(1);
  expect(planShardCount(sample(1, SHARD_CALLS_PER_SECOND + 1), NOW).count).toBe(2);
  expect(planShardCount(sample(1, 10 * SHARD_CALLS_PER_SECOND), NOW).count).toBe(2);
  expect(planShardCount(sample(4, 10 * SHARD_CALLS_PER_SECOND), NOW).count).toBe(8);
  expect(planShardCount(sample(8, 10 * SHARD_CALLS_PER_SECOND), NOW).count).toBe(10);
  expect(planShardCount(sample(40, 1_000 * SHARD_CALLS_PER_SECOND), NOW).count).toBe(64);
});

test("there are fewer only after half would have done for long", ({ expect }) => {
  const begun = planShardCount(sample(8, SHARD_CALLS_PER_SECOND), NOW);
  expect(begun).toEqual({ count: 8, lowSince: NOW });
  expect(planShardCount(sample(8, SHARD_CALLS_PER_SECOND, NOW), NOW + MERGE_AFTER_MS - 1).count).toBe(8);
  expect(planShardCount(sample(8, SHARD_CALLS_PER_SECOND, NOW), NOW + MERGE_AFTER_MS).count).toBe(1);
  expect(planShardCount(sample(8, 5 * SHARD_CALLS_PER_SECOND, NOW), NOW + 1)).toEqual({
    count: 8,
    lowSince: null,
  });
});

test("under a constant load the number comes to rest, with enough objects and none too many", ({
  expect,
}) => {
  const load = fc.integer({ min: 0, max: 64 * SHARD_CALLS_PER_SECOND });
  fc.assert(
    fc.property(load, fc.integer({ min: 1, max: 64 }), (callsPerSecond, first) => {
      let [active, lowSince] = [first, null as number | null];
      for (let round = 0; round < 200; round += 1) {
        const plan = planShardCount({ ...sample(active, callsPerSecond, lowSince) }, NOW + round * 10_000);
        ({ count: active, lowSince } = plan);
      }
      const needed = Math.max(1, Math.ceil(callsPerSecond / SHARD_CALLS_PER_SECOND));
      expect(active).toBeGreaterThanOrEqual(needed);
      expect(active).toBeLessThan(Math.max(2, 2 * needed));
    }),
  );
});

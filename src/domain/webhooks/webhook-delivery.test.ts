import fc from "fast-check";
import { test } from "vitest";
import {
  afterAttempt,
  newDelivery,
  redelivered,
  stateOfDelivery,
  type Delivery,
  WEBHOOK_ATTEMPTS,
  WEBHOOK_LOG_MAX,
  WEBHOOK_RETRY_MS,
} from "./webhook-delivery.ts";

const fresh = (now: number) => newDelivery({ seq: 1, end: 0, host: "example.com" }, now);
const answer = fc.oneof(
  fc.integer({ min: 100, max: 599 }).map((statusCode) => ({ statusCode })),
  fc.constant({ error: "reset" }),
);
const attempts = fc.array(fc.tuple(fc.nat(10_000), answer), { minLength: WEBHOOK_ATTEMPTS });

/** Attempts one after the other, each when it is due, until there is nothing more to do. */
function perform(delivery: Delivery, outcomes: readonly (readonly [number, object])[]): Delivery {
  let current = delivery;
  for (const [durationMs, outcome] of outcomes) {
    if (current.nextAt === null) break;
    current = afterAttempt(current, { at: current.nextAt, durationMs, ...outcome });
  }
  return current;
}

test("a delivery ends by its first success or by its last attempt", ({ expect }) => {
  fc.assert(
    fc.property(attempts, (outcomes) => {
      const over = perform(fresh(1_000), outcomes);
      const codes = over.attempts.map(({ statusCode = 0 }) => statusCode >= 200 && statusCode < 300);
      expect(over.nextAt).toBeNull();
      expect(codes.indexOf(true)).toBe(codes.includes(true) ? codes.length - 1 : -1);
      expect(codes.length).toBe(codes.includes(true) ? codes.length : WEBHOOK_ATTEMPTS);
      expect(stateOfDelivery(over)).toBe(codes.includes(true) ? "delivered" : "failed");
    }),
  );
});

test("no attempt begins sooner than the pause after the one before has ended", ({ expect }) => {
  fc.assert(
    fc.property(attempts, (outcomes) => {
      const { attempts: made } = perform(fresh(1_000), outcomes);
      for (const [index, { at }] of made.entries()) {
        const before = made[index - 1];
        if (before) expect(at - (before.at + before.durationMs)).toBeGreaterThanOrEqual(WEBHOOK_RETRY_MS);
      }
    }),
  );
});

test("a redelivery has all attempts again, and the log keeps the last ones", ({ expect }) => {
  let delivery = perform(
    fresh(0),
    Array.from({ length: WEBHOOK_ATTEMPTS }, () => [1, { statusCode: 500 }]),
  );
  for (let round = 1; round <= WEBHOOK_LOG_MAX; round += 1) {
    delivery = redelivered(delivery, round * 1_000_000);
    expect(stateOfDelivery(delivery)).toBe("pending");
    delivery = perform(delivery, [
      [1, {}],
      [1, {}],
      [1, { statusCode: 204 }],
    ]);
    expect(stateOfDelivery(delivery)).toBe("delivered");
  }
  expect(delivery.attempts).toHaveLength(WEBHOOK_LOG_MAX);
  expect(delivery.attempts.at(-1)?.at).toBeGreaterThan(WEBHOOK_LOG_MAX * 1_000_000);
});

import fc from "fast-check";
import { test } from "vitest";
import { countAhead, prioritiesToClaim, type Priority, LOW_PRIORITY_EVERY } from "./priorities.ts";

/** The order in which so many waiting jobs are claimed, `limit` at a time. */
function claimAll(queued: Record<Priority, number>, normalsInARow: number, limit: number): Priority[] {
  const left = { ...queued };
  const order: Priority[] = [];
  let inARow = normalsInARow;
  while (left.normal + left.low > 0) {
    const [priority, most] = prioritiesToClaim(left, inARow)[0] ?? ["normal", 0];
    for (let count = Math.min(most, limit, left[priority]); count > 0; count -= 1) {
      inARow = priority === "low" || left.low === 0 ? 0 : inARow + 1;
      left[priority] -= 1;
      order.push(priority);
    }
  }
  return order;
}

const queued = fc.record({ normal: fc.nat(100), low: fc.nat(10) });
const normalsInARow = fc.nat(LOW_PRIORITY_EVERY - 1);

test("while jobs of both priorities wait, every twentieth claim takes a low-priority one", ({ expect }) => {
  const order = claimAll({ normal: 100, low: 3 }, 0, 1);
  const turns = order.flatMap((priority, index) => (priority === "low" ? index + 1 : []));
  expect(turns).toEqual([20, 40, 60]);
});

test("a priority that waits alone is claimed without turns", ({ expect }) => {
  expect(prioritiesToClaim({ normal: 0, low: 7 }, 3)).toEqual([["low", 7]]);
  expect(prioritiesToClaim({ normal: 7, low: 0 }, 19)).toEqual([["normal", 7]]);
  expect(prioritiesToClaim({ normal: 0, low: 0 }, 0)).toEqual([]);
});

test("the order does not depend on how many are claimed at a time, and positions foretell it", ({
  expect,
}) => {
  fc.assert(
    fc.property(queued, normalsInARow, fc.integer({ min: 1, max: 30 }), (waiting, inARow, limit) => {
      const order = claimAll(waiting, inARow, limit);
      expect(order).toEqual(claimAll(waiting, inARow, 1));
      const place = { normal: 0, low: 0 };
      for (const [index, priority] of order.entries()) {
        place[priority] += 1;
        expect(countAhead(priority, place[priority], waiting, inARow)).toBe(index);
      }
    }),
  );
});

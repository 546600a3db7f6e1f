import fc from "fast-check";
import { test } from "vitest";
import { serveFairly, type Need } from "./fair-share.ts";

const need = (endpointId: string, desired: number, more: Partial<Need> = {}): Need => {
  return { endpointId, has: 0, least: 0, desired: desired, since: 0, ...more };
};

/** Who gets so many places, in order. */
function turnsOf(needs: readonly Need[], places: number): string {
  let given = "";
  serveFairly(needs, ({ endpointId }) => {
    if (given.length >= places) return false;
    given += endpointId;
    return true;
  });
  return given;
}

test("who has fewest workers comes first, and of equals who has waited longest", ({ expect }) => {
  expect(turnsOf([need("a", 9), need("b", 9)], 5)).toBe("ababa");
  expect(turnsOf([need("a", 9, { has: 2 }), need("b", 9)], 5)).toBe("bbaba");
  expect(turnsOf([need("a", 1, { since: 7 }), need("b", 1, { since: 6 })], 1)).toBe("b");
});

test("everybody's minimum comes before anybody's extra workers", ({ expect }) => {
  const needs = [need("a", 4), need("b", 4, { has: 3, least: 4 }), need("c", 2, { least: 2 })];
  expect(turnsOf(needs, 9)).toBe("ccbaaaa");
});

test("an endpoint for which nothing fits keeps nobody else waiting", ({ expect }) => {
  const given: string[] = [];
  serveFairly([need("a", 3, { least: 3 }), need("b", 2)], ({ endpointId }) => {
    given.push(endpointId);
    return endpointId !== "a";
  });
  expect(given).toEqual(["a", "b", "b"]);
});

test("nobody gets more than is desired, and no two of those who wait differ by more than one", ({
  expect,
}) => {
  const needs = fc
    .array(fc.nat(8), { minLength: 1, maxLength: 6 })
    .map((wishes) => wishes.map((desired, index) => need(String(index), desired)));
  fc.assert(
    fc.property(needs, fc.nat(30), (wishes, places) => {
      const given = turnsOf(wishes, places);
      const counts = wishes.map(({ endpointId }) => given.split(endpointId).length - 1);
      expect(given).toHaveLength(
        Math.min(
          places,
          wishes.reduce((sum, { desired }) => sum + desired, 0),
        ),
      );
      const unserved = counts.filter((count, index) => count < (wishes[index]?.desired ?? 0));
      for (const count of unserved) expect(Math.max(...counts) - count).toBeLessThanOrEqual(1);
    }),
  );
});

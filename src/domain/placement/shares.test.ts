import * as fc from "fast-check";
import { describe, test } from "vitest";
import {
  AGING_MS,
  comparePrecedence,
  giveWayAt,
  SLICE_MIN_MS,
  sliceMsOf,
  UsedCapacity,
  type Claimant,
} from "./shares.ts";

const NOW = 10_000_000;

function claimant(endpointId: string, more: Partial<Claimant> = {}): Claimant {
  const place = { has: 0, least: 0, since: NOW, units: 0 };
  return { endpointId, weight: 1, priority: "NORMAL", usedMs: 0, ...place, ...more };
}

describe("the next worker goes to", () => {
  test.for<[string, Partial<Claimant>, Partial<Claimant>]>([
    ["the one that is below its minimum", { least: 1, usedMs: 9 }, { priority: "HIGH" }],
    ["the one of higher priority", { priority: "HIGH", usedMs: 9 }, {}],
    [
      "the one of lower priority that has waited long",
      { priority: "LOW", withoutSince: NOW - AGING_MS },
      { usedMs: 9 },
    ],
    ["the one that has used less of its share", { usedMs: 1 }, { usedMs: 2, since: NOW - 5 }],
    ["the one that has fewer workers for its weight", { has: 2, weight: 3 }, { has: 1, since: NOW - 5 }],
    ["the one that has waited longer", { since: NOW - 1 }, {}],
  ])("%s", ([, first, second], { expect }) => {
    const [a, b] = [claimant("b", first), claimant("a", second)];
    expect(comparePrecedence(a, b, { a: 0, b: 0 }, NOW)).toBeLessThan(0);
    expect(comparePrecedence(b, a, { a: 0, b: 0 }, NOW)).toBeGreaterThan(0);
  });
});

describe("a worker with jobs gives way", () => {
  const has = { has: 1, units: 1, readyAt: NOW - 1_000 };
  const over = has.readyAt + SLICE_MIN_MS;
  test.for<[string, Partial<Claimant> & { readyAt?: number }, Partial<Claimant>, number | null]>([
    ["at once to an endpoint below its minimum", {}, { least: 1 }, has.readyAt],
    ["never of the minimum of its own endpoint", { least: 1 }, { least: 1, priority: "HIGH" }, null],
    ["after its slice to a higher priority", { usedMs: 0 }, { priority: "HIGH", usedMs: 9e9 }, over],
    [
      "to a lower priority once that has waited long",
      {},
      { priority: "LOW", withoutSince: NOW },
      NOW + AGING_MS,
    ],
    ["after its slice where its endpoint has used more", { usedMs: SLICE_MIN_MS }, {}, over],
    ["later where its endpoint has used less", { usedMs: 0 }, { usedMs: 50_000 }, NOW + 60_000],
    ["sooner to a greater weight", { usedMs: 0 }, { usedMs: 0, weight: 10 }, over],
    ["sooner of an endpoint that has more workers", { has: 3, units: 3, usedMs: 0 }, {}, over],
    ["never where the other one has as much", { usedMs: 0 }, { units: 1, has: 1 }, null],
  ])("%s", ([, first, second, at], { expect }) => {
    const holder = { ...claimant("h", { ...has, since: null }), readyAt: has.readyAt, ...first };
    expect(giveWayAt(holder, claimant("c", second), SLICE_MIN_MS, NOW)).toBe(at);
  });
});

test("how long an endpoint waits does not count while it has a worker", ({ expect }) => {
  const [low, normal] = [claimant("l", { priority: "LOW", since: 0 }), claimant("n")];
  expect(comparePrecedence(normal, low, { a: 0, b: 0 }, NOW)).toBeLessThan(0);
});

test("a start takes a tenth of a slice at most, where slices may be so long", ({ expect }) => {
  expect([0, 1_000, 5_000, 1e6].map(sliceMsOf)).toEqual([10_000, 10_000, 50_000, 600_000]);
});

describe("what endpoints have used", () => {
  const of = (endpointId: string, units: number, weight = 1) => ({ endpointId, units, weight });

  test("is the time for which they had capacity, by their weight", ({ expect }) => {
    const used = new UsedCapacity();
    used.count([of("a", 2, 4), of("b", 0)], 0);
    used.count([of("a", 1, 4), of("b", 1)], 1_000);
    used.count([of("a", 1, 4), of("b", 1)], 3_000);
    expect(used.of("a")).toBe(500 + 500);
    expect(used.of("b")).toBe(2_000);
  });

  test("is for one that comes later what the one has that used least", ({ expect }) => {
    const used = new UsedCapacity();
    used.count([of("a", 1), of("b", 2)], 0);
    expect(used.of("c")).toBe(0);
    used.count([of("a", 1), of("b", 2), of("c", 0)], 1_000);
    expect(["a", "b", "c"].map((id) => used.of(id))).toEqual([1_000, 2_000, 1_000]);
  });

  test("never falls with a clock that goes back", ({ expect }) => {
    const used = new UsedCapacity();
    used.count([of("a", 1)], 5_000);
    const before = used.of("a");
    used.count([of("a", 1)], 1_000);
    expect(used.of("a")).toBe(before);
  });
});

/** GPUs that always have work: each goes to the endpoint that comes first, once a worker gives way; a start takes no time. */
function shareOut(weights: readonly number[], gpuCount: number, hours: number): readonly number[] {
  const STEP_MS = 500;
  const used = new UsedCapacity();
  const held = weights.map(() => 0);
  const owners = Array.from({ length: gpuCount }, () => ({ index: -1, readyAt: 0 }));
  for (let now = 0; now < hours * 3_600_000; now += STEP_MS) {
    const unitsOf = (index: number) => owners.filter((owner) => owner.index === index).length;
    const contenders = () =>
      weights.map((weight, index) => {
        const endpointId = String(index);
        const units = unitsOf(index);
        const usedMs = used.of(endpointId);
        return claimant(endpointId, { weight, units, has: units, usedMs, since: 0 });
      });
    used.count(
      weights.map((weight, index) => ({ endpointId: String(index), weight, units: unitsOf(index) })),
      now,
    );
    for (const owner of owners) {
      const all = contenders();
      const [first] = all.toSorted((a, b) => comparePrecedence(a, b, { a: 0, b: 0 }, now));
      const holder = all[owner.index];
      if (!first || first === holder) continue;
      const at = holder ? giveWayAt({ ...holder, readyAt: owner.readyAt }, first, SLICE_MIN_MS, now) : now;
      if (at === null || at > now) continue;
      owner.index = Number(first.endpointId);
      owner.readyAt = now;
    }
    for (const { index } of owners) if (index >= 0) held[index] = (held[index] ?? 0) + STEP_MS;
  }
  const total = held.reduce((sum, ms) => sum + ms, 0);
  return held.map((ms) => ms / total);
}

test("endpoints that always have work get what their weights say, within 5 %", ({ expect }) => {
  const weights = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(weights, fc.integer({ min: 1, max: 3 }), (each, gpuCount) => {
      const sum = each.reduce((total, weight) => total + weight, 0);
      const shares = shareOut(each, gpuCount, 1);
      for (const [index, share] of shares.entries())
        expect(Math.abs(share - (each[index] ?? 0) / sum)).toBeLessThan(0.05);
    }),
    { numRuns: 25 },
  );
});

/** What workers have cost in Fleet, against a count by hand: random lives, prices, restarts, and clocks that jump. */
import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { test } from "vitest";
import { ObjectDatabase } from "../../src/durable/sql.ts";
import { fleetParts } from "../../src/fleet/composition.ts";
import { newWorker, type HostRecord } from "../../src/fleet/fleet-store.ts";
import { FLEET_MIGRATIONS } from "../../src/fleet/schema.ts";
import { INVENTORY } from "./agent-client.ts";
import { fleetObject } from "./object.ts";

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 30);
/** A price that changes and hardly does, so that costs show the time that was counted. */
const [PRICE, ALMOST_PRICE] = [1, 1 - 1e-9];
const EVER = { from: 0, until: Infinity };

type Step =
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "place" | "end" | "restart" | "forget" }
  | { readonly kind: "price"; readonly perGpuHour: number };

const passing = fc.integer({ min: 0, max: 30 * HOUR });
const CALLS: readonly Step[] = [{ kind: "place" }, { kind: "end" }, { kind: "restart" }, { kind: "forget" }];

function stepsWith(ms: fc.Arbitrary<number>, perGpuHour: fc.Arbitrary<number>) {
  const prices = perGpuHour.map((price): Step => ({ kind: "price", perGpuHour: price }));
  const passes = ms.map((passed): Step => ({ kind: "pass", ms: passed }));
  const step = fc.oneof(
    { weight: 3, arbitrary: passes },
    { weight: 4, arbitrary: fc.constantFrom(...CALLS) },
    { weight: 1, arbitrary: prices },
  );
  return fc.array(step, { minLength: 1, maxLength: 60, size: "max" });
}

const HOST: HostRecord = {
  ...{ hostId: "h", accountId: "a", name: "h", agentVersion: "test", inventory: INVENTORY, revision: 1 },
  ...{ isCordoned: false, isDrained: false, removedAt: null, awaySince: null },
  price: { kind: "gpu", perGpuHour: 1 },
};

/** Lives a history; returns what is spent after each step, and what a count by hand says. */
function live(storage: DurableObjectStorage, steps: readonly Step[]) {
  for (const table of ["worker", "host", "ended_worker", "spent_day", "gone_worker"])
    storage.sql.exec(`DELETE FROM ${table}`);
  const open = () => {
    const database = new ObjectDatabase(storage.sql);
    database.migrate(FLEET_MIGRATIONS);
    const parts = fleetParts(database);
    parts.store.load();
    parts.usage.load();
    return parts;
  };
  let { store, usage } = open();
  store.saveHost(HOST);
  let [now, latest, count, price, counted] = [START, START, 0, 1, 0];
  /** When each worker was placed, and the latest time that the clock has shown while it was there. */
  const bounds = new Map<string, { readonly from: number; to: number }>();
  const living: string[] = [];
  return steps.map((step) => {
    if (step.kind === "pass") {
      now += step.ms;
      counted += (living.length * price * step.ms) / HOUR;
      latest = Math.max(latest, now);
      for (const workerId of living) Object.assign(bounds.get(workerId) ?? {}, { to: latest });
    } else if (step.kind === "place") {
      const workerId = `w${(count += 1)}`;
      const place = { hostId: "h", gpuIndexes: [count % 8], size: { cpuMilli: 1, memoryMb: 1, diskMb: 1 } };
      store.saveWorker(newWorker({ workerId, endpointId: `e${count % 3}`, version: 1 }, place, now));
      living.push(workerId);
      bounds.set(workerId, { from: now, to: latest });
    } else if (step.kind === "end") {
      const worker = store.workers.get(living.shift() ?? "");
      if (worker) usage.ended(worker, now);
      if (worker) store.removeWorker(worker.workerId, now);
    } else if (step.kind === "price") {
      const host: HostRecord = { ...HOST, price: { kind: "gpu", perGpuHour: step.perGpuHour } };
      usage.repriced(host, now);
      store.saveHost(host);
      price = step.perGpuHour;
    } else if (step.kind === "restart") ({ store, usage } = open());
    else usage.forgetBefore(now, now);
    const { cost } = usage.costsWithin(EVER, null, now);
    const ofEndpoints = ["e0", "e1", "e2"].map((id) => usage.costsWithin(EVER, id, now).cost);
    return {
      step,
      cost,
      counted,
      ofEndpoints,
      longestMs: [...bounds.values()].reduce((sum, { from, to }) => sum + to - from, 0),
    };
  });
}

const withStorage = (name: string, run: (storage: DurableObjectStorage) => void) =>
  runInDurableObject(fleetObject(name), (_, { storage }) => run(storage));

test("what is spent is what a count by hand says, by endpoint and in sum", async ({ expect }) => {
  await withStorage("spending-by-hand", (storage) => {
    fc.assert(
      fc.property(stepsWith(passing, fc.integer({ min: 0, max: 50 })), (steps) => {
        for (const { cost, counted, ofEndpoints } of live(storage, steps)) {
          expect(cost).toBeCloseTo(counted, 6);
          expect(ofEndpoints.reduce((sum, part) => sum + part, 0)).toBeCloseTo(cost, 6);
        }
      }),
      { numRuns: 60 },
    );
  });
});

test("a clock that jumps makes nothing negative, count twice, or fall but with the clock", async ({
  expect,
}) => {
  const jumping = fc.oneof(passing, fc.integer({ min: -5 * HOUR, max: 0 }));
  await withStorage("spending-with-jumps", (storage) => {
    fc.assert(
      fc.property(stepsWith(jumping, fc.constantFrom(PRICE, ALMOST_PRICE)), (steps) => {
        let before = 0;
        for (const { step, cost, longestMs } of live(storage, steps)) {
          expect(cost).toBeGreaterThanOrEqual(0);
          expect(cost).toBeLessThanOrEqual((longestMs / HOUR) * PRICE + 1e-6);
          if (step.kind !== "pass" || step.ms >= 0) expect(cost).toBeGreaterThanOrEqual(before - 1e-6);
          before = cost;
        }
      }),
      { numRuns: 60 },
    );
  });
});

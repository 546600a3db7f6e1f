/** An endpoint's workers come with load, go when they are free for long enough, and cost no rows while nothing happens. */
import { describe } from "vitest";
import { IDLE_STORE_AFTER_MS } from "../../src/endpoint/scaling/idle-tracker.ts";
import { alarmOf, endpointObject } from "./object.ts";
import { test, type FleetHarness } from "./support/fleet-harness.ts";
import { SCALE_DOWN_INTERVAL_MS } from "../../src/domain/scaling/scaling-plan.ts";

const SECOND = 1_000;
/** Default of scalerValue. */
const DELAY_MS = 4 * SECOND;

async function open(fleet: FleetHarness, settings: string) {
  const endpoint = await fleet.endpoint(settings);
  const host = await fleet.host({ gpus: Array.from({ length: 8 }, () => "AMPERE_16") });
  const untilWorkers = (count: number) => host.untilReady(endpoint, count);
  return { endpoint, host, untilWorkers };
}

/** A burst has brought all workers that are allowed, each with a job, and nothing waits any more. */
async function openBusy(fleet: FleetHarness, settings: string, workers: number) {
  const { endpoint, host, untilWorkers } = await open(fleet, settings);
  await endpoint.submitMany(workers);
  let ids = await untilWorkers(1);
  for (let count = 1; count < workers;) {
    count = Math.min(2 * count, workers);
    await endpoint.later(DELAY_MS);
    ids = await untilWorkers(count);
  }
  const jobs = await host.offer(ids);
  const completeOn = async (...workerIds: readonly string[]) =>
    host.complete(...jobs.filter(({ workerId }) => workerIds.includes(workerId)));
  return { endpoint, host, untilWorkers, ids, completeOn };
}

describe("scale-out", () => {
  test("QUEUE_DELAY: a burst adds one worker at once, and doubles them with every delay up to workersMax", async ({
    expect,
    fleet,
  }) => {
    const { endpoint, untilWorkers } = await open(fleet, "workersMax: 5, idleTimeout: 5");
    await endpoint.submitMany(20);
    let before = await untilWorkers(1);
    for (const count of [2, 4, 5]) {
      await endpoint.later(DELAY_MS - 1);
      expect(await untilWorkers(before.length)).toEqual(before);
      await endpoint.later(1);
      before = await untilWorkers(count);
    }
    await endpoint.later(DELAY_MS);
    expect(await untilWorkers(5)).toEqual(before);
  });

  test("REQUEST_COUNT: a burst adds a worker for every scalerValue jobs at once", async ({ fleet }) => {
    const settings = 'workersMax: 5, scalerType: "REQUEST_COUNT", scalerValue: 4';
    const { endpoint, untilWorkers } = await open(fleet, settings);
    await endpoint.submitMany(9);
    await untilWorkers(3);
    await endpoint.submitMany(20);
    await untilWorkers(5);
  });

  test("low-priority jobs add no worker, however many and however old", async ({ expect, fleet }) => {
    for (const scalerType of ["QUEUE_DELAY", "REQUEST_COUNT"]) {
      const settings = `workersMax: 5, scalerType: "${scalerType}", scalerValue: 1`;
      const { endpoint, untilWorkers } = await open(fleet, settings);
      await endpoint.submitMany(20, { lowPriority: true });
      await endpoint.later(DELAY_MS);
      await untilWorkers(0);
      await endpoint.submitMany(1);
      const ids = await untilWorkers(1);
      await endpoint.later(2 * DELAY_MS);
      expect(await untilWorkers(1)).toEqual(ids);
    }
  });

  test("a worker that takes eight jobs at once is requested once for them", async ({ expect, fleet }) => {
    const { endpoint, host, untilWorkers } = await open(fleet, "workersMax: 5, idleTimeout: 60");
    await endpoint.submitMany(1);
    const [first = ""] = await untilWorkers(1);
    const jobs = await host.offer([first], 8);
    expect(jobs).toHaveLength(1);
    await host.complete(...jobs);
    await endpoint.submitMany(8);
    await endpoint.later(2 * DELAY_MS);
    expect(await untilWorkers(1)).toEqual([first]);
    await endpoint.evict();
    await endpoint.submitMany(1);
    await endpoint.later(DELAY_MS);
    await untilWorkers(2);
    await endpoint.later(DELAY_MS);
    await untilWorkers(2);
  });
});

describe("a trial", () => {
  test("has one worker although there is no work, until it ends; then that leaves", async ({
    expect,
    fleet,
  }) => {
    const { endpoint, untilWorkers } = await open(fleet, "workersMax: 2, idleTimeout: 5");
    expect(await endpoint.post("trial?seconds=60")).toMatchObject({ status: 200 });
    await untilWorkers(1);
    await endpoint.later(30 * SECOND);
    await endpoint.post("trial?seconds=60");
    await endpoint.evict();
    await endpoint.later(60 * SECOND - 1);
    await untilWorkers(1);
    await endpoint.later(1);
    await endpoint.later(5 * SECOND); // it is idle since then for an object that has forgotten everything
    await untilWorkers(0);
  });

  test("can be ended early, and starts nothing where workersMax is 0", async ({ expect, fleet }) => {
    const { endpoint, untilWorkers } = await open(fleet, "workersMax: 1, idleTimeout: 5");
    await endpoint.post("trial?seconds=600");
    await untilWorkers(1);
    await endpoint.later(4 * SECOND);
    expect((await endpoint.remove("trial")).status).toBe(200);
    await untilWorkers(1);
    await endpoint.later(SECOND);
    await untilWorkers(0);

    await endpoint.save("workersMax: 0");
    await endpoint.post("trial?seconds=600");
    await endpoint.later(SECOND);
    await untilWorkers(0);
  });
});

describe("scale-in", () => {
  for (const isEvicted of [false, true]) {
    const title = "free workers leave one by one after idleTimeout, and workersMin stay";
    test(
      isEvicted ? `${title}, also when the object forgets everything in between` : title,
      async ({ expect, fleet }) => {
        const settings = "workersMin: 1, workersMax: 4, idleTimeout: 60";
        const { endpoint, untilWorkers, ids, completeOn } = await openBusy(fleet, settings, 4);
        await completeOn(...ids);
        await endpoint.later(IDLE_STORE_AFTER_MS);
        if (isEvicted) await endpoint.evict();
        await endpoint.later(60 * SECOND - IDLE_STORE_AFTER_MS - 1);
        await untilWorkers(4);
        if (isEvicted) await endpoint.evict();
        await endpoint.later(1);
        await untilWorkers(3);
        for (const left of [2, 1, 1]) {
          await endpoint.later(SCALE_DOWN_INTERVAL_MS - 1);
          await endpoint.later(1);
          await untilWorkers(left);
        }
        await endpoint.later(600 * SECOND);
        expect(await untilWorkers(1)).toHaveLength(1);
      },
    );
  }

  test("a busy worker stays, and a removed one gets no more jobs", async ({ expect, fleet }) => {
    const scene = await openBusy(fleet, "workersMax: 2, idleTimeout: 5", 2);
    const { endpoint, host, untilWorkers, completeOn } = scene;
    const [free = "", busy = ""] = scene.ids;
    await completeOn(free);
    await endpoint.later(5 * SECOND);
    expect(await untilWorkers(1)).toEqual([busy]);
    await endpoint.later(60 * SECOND);
    expect(await untilWorkers(1)).toEqual([busy]);

    await endpoint.submitMany(1);
    expect(await host.offer([free])).toEqual([]);
    await completeOn(busy);
    expect(await host.offer([busy])).toHaveLength(1);
  });

  test("a lower workersMax removes the free workers first, and the busy one after its job", async ({
    expect,
    fleet,
  }) => {
    const scene = await openBusy(fleet, "workersMax: 4, idleTimeout: 60", 4);
    const { endpoint, host, untilWorkers, completeOn } = scene;
    const [a = "", b = "", c = "", d = ""] = scene.ids;
    await completeOn(b, d);
    await endpoint.save("workersMax: 2");
    expect((await untilWorkers(2)).toSorted()).toEqual([a, c].toSorted());

    await endpoint.save("workersMax: 1");
    await endpoint.submitMany(2);
    await untilWorkers(2);
    await completeOn(a, c);
    const next = await host.offer([a, c]);
    expect(next).toHaveLength(1);
    await untilWorkers(1);
    await host.complete(...next);
    expect(await host.offer([a, c])).toHaveLength(1);
  });
});

test("a burst writes few rows for scaling, and an idle endpoint none", async ({ expect, fleet }) => {
  const settings = "workersMin: 1, workersMax: 4, idleTimeout: 5";
  const { endpoint, host, untilWorkers } = await open(fleet, settings);
  await untilWorkers(1);
  const stub = endpointObject(endpoint.id);
  const rows = async () => (await stub.vitals()).rowsWritten;
  const before = await rows();

  await endpoint.submitMany(4);
  await endpoint.later(DELAY_MS);
  const two = await untilWorkers(2);
  await endpoint.later(DELAY_MS);
  const ids = await untilWorkers(4);
  expect(two.every((workerId) => ids.includes(workerId))).toBe(true);
  await host.complete(...(await host.offer(ids)));
  const out = await rows();
  await endpoint.later(5 * SECOND);
  for (const left of [3, 2, 1]) {
    await untilWorkers(left);
    await endpoint.later(SCALE_DOWN_INTERVAL_MS);
  }
  const done = await rows();
  console.info(
    `rows written by a burst of 4 jobs: ${out - before} until they end, ${done - out} until 3 workers left`,
  );

  await endpoint.later(180 * SECOND); // leases are over
  const quiet = await rows();
  await stub.health();
  expect(out - before).toBeLessThan(25);
  expect(done - out).toBeLessThan(25);
  expect(await rows()).toBe(quiet);
  expect(await alarmOf(endpoint.id)).toBeGreaterThan(Date.now() + 20 * 60 * SECOND); // when results are removed
});

import { describe, test } from "vitest";
import { capacityBy, countEndedByTake, endedByTake, applyPing, type Outstanding } from "./evidence.ts";

const job = (jobId: string, deliveredAt: number): Outstanding => ({
  jobId,
  deliveredAt,
  wasSeenInPing: false,
  pingsWithout: 0,
});
const take = { beganAt: 1_000, hasJobInProgress: false, free: 1, capacity: 1 };

describe("a job poll", () => {
  test("that says nothing is in progress ends the job delivered before it", ({ expect }) => {
    expect(endedByTake(take, [job("a", 900)])).toEqual(["a"]);
  });

  test("ends nothing that was delivered after it began", ({ expect }) => {
    expect(endedByTake(take, [job("a", 1_001)])).toEqual([]);
  });

  test("ends nothing when the worker says that a job is in progress, or says nothing", ({ expect }) => {
    expect(endedByTake({ ...take, hasJobInProgress: true }, [job("a", 900)])).toEqual([]);
    expect(endedByTake({ ...take, hasJobInProgress: null }, [job("a", 900)])).toEqual([]);
  });

  test("does not end a job that may still be queued inside a worker with more slots", ({ expect }) => {
    const wide = { ...take, capacity: 3, free: 2 };
    expect(endedByTake(wide, [job("a", 990)])).toEqual([]);
    expect(endedByTake({ ...wide, beganAt: 6_000 }, [job("a", 990)])).toEqual(["a"]);
    expect(endedByTake({ ...wide, free: 3 }, [job("a", 990)])).toEqual(["a"]);
  });

  test("ends everything from before a restart of the agent, whose polls broke with it", ({ expect }) => {
    expect(endedByTake({ ...take, capacity: null }, [job("a", 900), job("b", 950)])).toEqual(["a", "b"]);
  });

  test("that asks for more than fits beside the outstanding jobs says how many ended", ({ expect }) => {
    const busy = { ...take, hasJobInProgress: true, capacity: 3 };
    expect(countEndedByTake({ ...busy, free: 2 }, 2)).toBe(1);
    expect(countEndedByTake({ ...busy, free: 1 }, 2)).toBe(0);
    expect(countEndedByTake({ ...busy, capacity: null }, 2)).toBe(0);
  });
});

describe("what a worker can hold", () => {
  const busy = { ...take, hasJobInProgress: true, capacity: 3 };

  test("is what it asks for beside the jobs inside, and no less for one that still waits on its poll", ({
    expect,
  }) => {
    expect(capacityBy({ ...busy, free: 2 }, 1)).toBe(3);
    expect(capacityBy({ ...busy, free: 2 }, 0)).toBe(3);
    expect(capacityBy({ ...busy, free: 2, capacity: null }, 2)).toBe(4);
  });

  test("grows by any poll, and shrinks by that of an empty worker alone", ({ expect }) => {
    expect(capacityBy({ ...busy, free: 4 }, 1)).toBe(5);
    expect(capacityBy({ ...busy, free: 1 }, 0)).toBe(3);
    expect(capacityBy({ ...busy, free: 1, hasJobInProgress: null }, 0)).toBe(3);
    expect(capacityBy({ ...busy, free: 1, hasJobInProgress: false }, 1)).toBe(3);
    expect(capacityBy({ ...busy, free: 1, hasJobInProgress: false }, 0)).toBe(1);
  });
});

describe("a ping", () => {
  const seen = { wasSeenInPing: true, pingsWithout: 0 };

  test("without the id of a job that pings named before ends it the second time", ({ expect }) => {
    const first = applyPing("a", seen, new Set());
    expect(first).toEqual({ wasSeenInPing: true, pingsWithout: 1, isEnded: false });
    expect(applyPing("a", { ...seen, ...first }, new Set(["b"])).isEnded).toBe(true);
  });

  test("that names the job again restarts the count", ({ expect }) => {
    expect(applyPing("a", { ...seen, pingsWithout: 1 }, new Set(["a"]))).toMatchObject({ pingsWithout: 0 });
  });

  test("proves nothing about a job that no ping ever named", ({ expect }) => {
    expect(applyPing("a", { ...seen, wasSeenInPing: false }, new Set()).isEnded).toBe(false);
  });
});

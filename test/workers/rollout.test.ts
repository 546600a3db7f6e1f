import { describe, test } from "vitest";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import type { FleetReport, WorkerSnapshot } from "../../src/domain/jobs/queue-reason.ts";
import type { RolloutWorker } from "../../src/domain/rollouts/rollout-plan.ts";
import { EVICTION_RETRY_MS, Rollout, type RolloutState } from "../../src/endpoint/scaling/rollout.ts";

const NOW = 1_800_000_000_000;
const CONFIG = { version: 2, workersMax: 2 } as EndpointConfig;

function worker(workerId: string, version: number): RolloutWorker {
  return { workerId, version, isReady: true, jobs: 0, isDraining: false, freeSinceAt: NOW, isBroken: false };
}

/** Two idle workers of the older version, each of which could be evicted for a new one. */
const OLDER = [worker("older-1", 1), worker("older-2", 1)];

function reportOf(roomBy: readonly (readonly string[])[]): FleetReport {
  const workers = OLDER.map(({ workerId, version }): WorkerSnapshot => ({
    workerId,
    version,
    hostId: "host",
    state: "ready",
    detail: null,
  }));
  const shortage = { reason: "no_host", detail: "All GPUs are in use." } as const;
  return { revision: 1, workers, missing: 1, shortage: null, rollShortage: { shortage, roomBy } };
}

function startedRollout(): Rollout {
  let stored: RolloutState | undefined;
  const rollout = new Rollout({
    read: () => stored,
    write: (state) => {
      stored = state;
    },
  });
  rollout.recover();
  rollout.begin(false, NOW);
  return rollout;
}

function step(rollout: Rollout, workers: readonly RolloutWorker[], report: FleetReport, now: number) {
  return rollout.step({ workers, report, desired: 2, isCapacityComing: false, isAhead: false }, CONFIG, now);
}

describe("a rollout that evicts a worker", () => {
  const report = reportOf([["older-1"], ["older-2"]]);

  test("evicts no other one before a new worker has come", ({ expect }) => {
    const rollout = startedRollout();
    expect(step(rollout, OLDER, report, NOW)).toMatchObject({ evicts: true });
    const waiting = step(rollout, OLDER.slice(1), report, NOW + 1);
    expect(waiting).toMatchObject({ evicts: false, reviewAt: NOW + EVICTION_RETRY_MS });
  });

  test("evicts another one at once when a new worker has come", ({ expect }) => {
    const rollout = startedRollout();
    step(rollout, OLDER, report, NOW);
    const workers = [...OLDER.slice(1), worker("newer-1", 2)];
    const next = rollout.step(
      { workers, report, desired: 3, isCapacityComing: false, isAhead: false },
      { ...CONFIG, workersMax: 3 },
      NOW + 1,
    );
    expect(next).toMatchObject({ evicts: true });
  });

  test("evicts another one when none has come for a while", ({ expect }) => {
    const rollout = startedRollout();
    step(rollout, OLDER, report, NOW);
    expect(step(rollout, OLDER.slice(1), report, NOW + EVICTION_RETRY_MS)).toMatchObject({ evicts: true });
  });
});

test("a rollout remembers since when it is stalled", ({ expect }) => {
  const rollout = startedRollout();
  const report = reportOf([]);
  const stalledSince = () => rollout.describe(report, 2, NOW + 60_000)?.stalledSince;
  step(rollout, OLDER, report, NOW + 1_000);
  step(rollout, OLDER, report, NOW + 60_000);
  expect(stalledSince()).toBe(new Date(NOW + 1_000).toISOString());
});

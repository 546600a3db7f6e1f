import { describe, test } from "vitest";
import type { WorkerState } from "../../contract/agent/agent.ts";
import { NO_REPORT, type FleetReport } from "../jobs/queue-reason.ts";
import { describeRollout, startObstacleOf } from "./rollout-progress.ts";
import { WORKER_START_LIMIT_MS } from "../../contract/agent/agent.ts";

const SINCE = Date.UTC(2030, 0, 1);
const clock = { since: SINCE, progressAt: SINCE, stalledSince: null };
const worker = (version: number, state: WorkerState, detail: string | null = null) => {
  return { workerId: crypto.randomUUID(), hostId: "h", version, state, detail };
};
const reportOf = (...workers: FleetReport["workers"]): FleetReport => ({ ...NO_REPORT, workers });

test("while all workers have one version there is no progress to report; stopping ones do not count", ({
  expect,
}) => {
  const report = reportOf(worker(3, "ready"), worker(2, "stopping"));
  expect(describeRollout(report, 3, clock, SINCE)).toBeNull();
  expect(describeRollout(NO_REPORT, 3, clock, SINCE)).toBeNull();
});

test("a worker on standby counts for no version, and hides nothing", ({ expect }) => {
  const shortage = { reason: "no_matching_gpu", detail: "No host has a free GPU." } as const;
  const rolling = reportOf(worker(2, "ready"), worker(3, "standby"));
  const report = { ...rolling, rollShortage: { shortage, roomBy: [] } };
  const told = { outdated: 1, current: 0, reason: "No host has a free GPU." };
  expect(describeRollout(report, 3, clock, SINCE)).toMatchObject(told);
  expect(describeRollout(reportOf(worker(3, "ready"), worker(2, "standby")), 3, clock, SINCE)).toBeNull();
});

test("workers are counted by version, and the reason of the wait is named", ({ expect }) => {
  const report = reportOf(
    worker(1, "ready"),
    worker(2, "ready"),
    worker(3, "ready"),
    worker(3, "pulling", "Pulling the image: 40 %."),
  );
  expect(describeRollout(report, 3, clock, SINCE)).toEqual({
    from: 1,
    to: 3,
    outdated: 2,
    current: 2,
    ready: 1,
    since: "2030-01-01T00:00:00.000Z",
    stalledSince: null,
    reason: "Pulling the image: 40 %.",
  });
});

test("a rollout without ready workers is stalled after the limit of a start", ({ expect }) => {
  const report = reportOf(worker(1, "ready"), worker(2, "pulling", "No such image."));
  const at = SINCE + WORKER_START_LIMIT_MS;
  expect(describeRollout(report, 2, clock, at - 1)?.stalledSince).toBeNull();
  const late = { stalledSince: new Date(at).toISOString(), reason: "No such image." };
  expect(describeRollout(report, 2, clock, at)).toMatchObject(late);
});

describe("the obstacle of the first workers", () => {
  const shortage = { reason: "no_host", detail: "No host is connected." } as const;
  const failing = worker(3, "crash_looping", "ImportError");
  test.for<[string, FleetReport, string | null]>([
    ["nothing", reportOf(worker(3, "starting")), null],
    ["nothing where none is asked for", NO_REPORT, null],
    ["no place", { ...NO_REPORT, missing: 1, shortage }, "No host is connected."],
    ["no place for one more", { ...reportOf(worker(3, "ready")), missing: 1, shortage }, null],
    ["its own fault", reportOf(failing), "ImportError"],
    ["the fault of an older one", reportOf({ ...failing, version: 2 }), null],
  ])("%s", ([, report, reason], { expect }) => {
    expect(startObstacleOf(report, 3)).toBe(reason);
  });
});

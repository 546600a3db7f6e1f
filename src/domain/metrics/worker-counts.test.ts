import { test } from "vitest";
import { NO_REPORT, type FleetReport } from "../jobs/queue-reason.ts";
import { measureWorkers } from "./worker-counts.ts";

type Worker = FleetReport["workers"][number];
const states = ["ready", "ready", "pulling", "starting", "starting", "unhealthy", "crash_looping"] as const;

test("each worker is counted once: by its state, or as running if it has a job", ({ expect }) => {
  const workers = states.map((state, index) => ({ workerId: `w${index}`, state }) as Worker);
  const report = { ...NO_REPORT, workers, missing: 4 };
  expect(measureWorkers(report, new Set(["w1"]))).toEqual({
    readyWorkers: ["w0"],
    workers: { idle: 1, ready: 1, running: 1, initializing: 3, unhealthy: 2, throttled: 4 },
  });
});

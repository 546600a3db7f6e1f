import { test } from "vitest";
import type { WorkerState } from "../../contract/agent/agent.ts";
import { NO_REPORT, type WorkerSnapshot, explainAbsence } from "./queue-reason.ts";

const worker = (state: WorkerState): WorkerSnapshot => ({ workerId: "w", hostId: "h", state, detail: null });

test("the reason of a waiting request names workers and health checks, never jobs", ({ expect }) => {
  const states: WorkerState[] = ["pulling", "starting", "ready", "unhealthy", "crash_looping", "stopping"];
  const told = states.map((state) => explainAbsence({ ...NO_REPORT, workers: [worker(state)] }, 1));
  for (const detail of [...told, explainAbsence(NO_REPORT, 0), explainAbsence(NO_REPORT, 1)]) {
    expect(detail).not.toMatch(/job/i);
  }
  expect(told[1]).toContain("health check");
});

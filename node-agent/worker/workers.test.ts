import { describe, test } from "vitest";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import { SILENT_LOG } from "../core/log.ts";
import { TIMING } from "../core/timing.ts";
import { planWorkers, Workers } from "./workers.ts";

function assignment(workerId: string, revision = 1): Assignment {
  return {
    workerId,
    endpointId: "endpoint",
    revision,
    type: "QB",
    imageName: "image",
    dockerArgs: "",
    env: {},
    containerDiskInGb: 5,
    gpuIndexes: [],
    registryAuth: null,
    startLimitMs: 60_000,
  };
}
const present = (workerId: string, revision = 1, isDraining = false) => ({ workerId, revision, isDraining });

describe("reconciling a host", () => {
  test("starts what is assigned and missing, drains what is present and not assigned", ({ expect }) => {
    const plan = planWorkers([assignment("a"), assignment("b")], [present("b"), present("c")]);
    expect(plan.start.map((one) => one.workerId)).toEqual(["a"]);
    expect(plan.drain).toEqual(["c"]);
  });

  test("drains a worker of another revision, and starts its successor only when it is gone", ({ expect }) => {
    expect(planWorkers([assignment("a", 2)], [present("a", 1)])).toEqual({ start: [], drain: ["a"] });
    expect(planWorkers([assignment("a", 2)], [present("a", 1, true)])).toEqual({ start: [], drain: [] });
    expect(planWorkers([assignment("a", 2)], []).start).toHaveLength(1);
  });

  test("asks for nothing when everything is as it should be", ({ expect }) => {
    expect(planWorkers([assignment("a")], [present("a")])).toEqual({ start: [], drain: [] });
  });
});

test("an attempt is lost once the container that cannot reach its agent is gone", async ({ expect }) => {
  const done: string[] = [];
  const attempt = { jobId: "job", attempt: 1, workerId: "a", endpointId: "endpoint" };
  const workers = new Workers({
    runtime: {
      watch: () => () => {},
      list: async () => [{ workerId: "a", isRunning: true, isFrozen: false }],
      remove: async (workerId: string) => void done.push(`removed ${workerId}`),
    },
    journal: {
      workers: () => [{ assignment: assignment("a") }],
      attempts: () => [attempt],
      removeWorker() {},
    },
    ledger: { report: async (_: unknown, { kind }: { kind: string }) => void done.push(kind) },
    log: SILENT_LOG,
    timing: TIMING,
  } as unknown as ConstructorParameters<typeof Workers>[0]);
  await workers.adopt({ isReachable: false });
  expect(done).toEqual(["removed a", "lost"]);
});

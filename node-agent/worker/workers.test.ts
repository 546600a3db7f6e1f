import { describe, test } from "vitest";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import { planWorkers } from "./workers.ts";

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

import { describe, test } from "vitest";
import type { Assignment, Gpu, Inventory } from "../../src/contract/agent/agent.ts";
import { podEnvironment, workerEnvironment } from "./environment.ts";

const assignment: Assignment = {
  workerId: "worker1",
  endpointId: "endpoint1",
  revision: 1,
  type: "QB",
  imageName: "image",
  dockerArgs: "",
  env: { MODEL: "small", RUNPOD_POD_ID: "chosen-by-user", RUNPOD_SKIP_GPU_CHECK: "false" },
  containerDiskInGb: 5,
  gpuIndexes: [0],
  registryAuth: null,
  startLimitMs: 60_000,
};
const access = { address: "172.17.0.1", port: 4000, token: "T" };
const gpu: Gpu = { index: 0, name: "NVIDIA L4", tier: "AMPERE_24", memoryMb: 24_000, isSimulated: false };

describe("the environment of a worker", () => {
  test("carries the user's variables, but the protocol's win", ({ expect }) => {
    const env = workerEnvironment(assignment, access, [gpu]);
    expect(env).toMatchObject({ MODEL: "small", RUNPOD_POD_ID: "worker1", RUNPOD_ENDPOINT_ID: "endpoint1" });
  });

  test("has a ? in every address, the literal worker id, and $ID only for results and chunks", ({
    expect,
  }) => {
    const env = workerEnvironment(assignment, access, [gpu]);
    expect(env).toMatchObject({
      RUNPOD_WEBHOOK_GET_JOB: "http://172.17.0.1:4000/T/job-take/worker1?x=1",
      RUNPOD_WEBHOOK_POST_OUTPUT: "http://172.17.0.1:4000/T/job-done/worker1/$ID?x=1",
      RUNPOD_WEBHOOK_POST_STREAM: "http://172.17.0.1:4000/T/job-stream/worker1/$ID?x=1",
      RUNPOD_WEBHOOK_PING: "http://172.17.0.1:4000/T/ping/worker1?x=1",
      RUNPOD_PING_INTERVAL: "4000",
    });
  });

  test("spares a worker without a real GPU the built-in checks, unless the user asks for them", ({
    expect,
  }) => {
    const simulated = workerEnvironment(assignment, access, [{ ...gpu, isSimulated: true }]);
    expect(simulated).toMatchObject({
      RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: "true",
      RUNPOD_SKIP_GPU_CHECK: "false",
    });
    expect(workerEnvironment(assignment, access, [gpu])).not.toHaveProperty("RUNPOD_SKIP_AUTO_SYSTEM_CHECKS");
  });

  test("keeps the SDK's log short, unless the user asks for more", ({ expect }) => {
    expect(workerEnvironment(assignment, access, [gpu])).toMatchObject({ RUNPOD_LOG_LEVEL: "INFO" });
    const verbose = { ...assignment, env: { RUNPOD_LOG_LEVEL: "DEBUG" } };
    expect(workerEnvironment(verbose, access, [gpu])).toMatchObject({ RUNPOD_LOG_LEVEL: "DEBUG" });
  });

  test("names the GPUs that are the worker's own", ({ expect }) => {
    expect(workerEnvironment(assignment, access, [gpu])).toMatchObject({
      RUNPOD_GPU_COUNT: "1",
      RUNPOD_GPU_NAME: "NVIDIA L4",
    });
    expect(workerEnvironment(assignment, access, [])).toMatchObject({ RUNPOD_GPU_COUNT: "0" });
  });
});

test("a pod learns the data center that the APIs show for its host", ({ expect }) => {
  const facts = { runtime: "docker", gpus: [], cpuCount: 4, memoryMb: 8_000, diskFreeMb: 1 } as const;
  const inventoryIn = (dataCenterId?: string): Inventory => ({
    ...facts,
    gpus: [],
    ...(dataCenterId !== undefined && { dataCenterId }),
  });
  const shown = ["US-KS-2", "cellar", undefined].map(
    (dataCenterId) =>
      podEnvironment(assignment, access, { inventory: inventoryIn(dataCenterId), gpus: [], ports: [] })[
        "RUNPOD_DC_ID"
      ],
  );
  expect(shown).toEqual(["US-KS-2", "EU-RO-1", "EU-RO-1"]);
});

import { test } from "vitest";
import type { WorkerState } from "../../contract/agent/agent.ts";
import { toRollout } from "./rollout.ts";

const worker = (version: number, state: WorkerState) => ({
  workerId: `${version}-${state}`,
  endpointId: "e",
  hostId: "h",
  version,
  dataCenterId: "",
  gpuModels: [],
  gpuParts: [],
  limits: null,
  isGpuSimulated: false,
  state,
  detail: null,
  imageDigest: null,
  createdAt: 0,
  start: null,
});

test("a rollout counts the workers that stay, and none that stops or is on standby", ({ expect }) => {
  expect(toRollout([worker(2, "ready"), worker(1, "standby"), worker(1, "stopping")], 2)).toBeNull();
  const workers = [worker(1, "ready"), worker(2, "ready"), worker(2, "standby")];
  expect(toRollout(workers, 2)).toMatchObject({ workersOnLatest: 1, workersTotal: 2 });
});

import { fc, test } from "@fast-check/vitest";
import { describe, expect, test as plainTest } from "vitest";
import type { PresentEndpoint } from "../service/endpoint-operations.ts";
import { toEndpointInput, type EndpointInput } from "./endpoint-input.ts";
import { planDeployment } from "./plan.ts";

const gpuWorker = toEndpointInput(
  "gpu_worker",
  {
    is_load_balanced: false,
    functions: [],
    imageName: "edgerun/flash:py3.12-latest",
    gpuIds: "ADA_24",
    minCudaVersion: "12.8",
    env: { MODEL: "small" },
  },
  { fingerprint: "aaaa", volumeIds: [] },
);

/** What the service has after it was given this input. */
function present(input: EndpointInput, changes: Partial<PresentEndpoint> = {}): PresentEndpoint {
  const { template, networkVolumeIds, ...rest } = input;
  return {
    ...rest,
    id: `id-of-${input.name}`,
    version: 1,
    gpuIds: input.gpuIds || null,
    instanceIds: [...input.instanceIds],
    locations: input.locations || null,
    minCudaVersion: input.minCudaVersion || null,
    networkVolumeId: null,
    networkVolumeIds: networkVolumeIds.map((networkVolumeId) => ({ networkVolumeId })),
    activeBuildid: "build-1",
    template: {
      ...template,
      containerRegistryAuthId: null,
      modelTokenSecret: null,
      env: [...template.env].toReversed(),
    },
    ...changes,
  };
}

const actions = (plan: ReturnType<typeof planDeployment>) =>
  plan.endpoints.map((endpoint) => [
    endpoint.input.name,
    endpoint.action,
    ...(endpoint.action === "update" ? endpoint.changes : []),
  ]);

describe("a deployment", () => {
  plainTest("creates missing endpoints and lists those that are no longer in the app", () => {
    const old = present({ ...gpuWorker, name: "old_worker" });
    const plan = planDeployment([{ input: gpuWorker, buildId: "build-1" }], [old]);
    expect(actions(plan)).toEqual([["gpu_worker", "create"]]);
    expect(plan.removed.map(({ name }) => name)).toEqual(["old_worker"]);
  });

  plainTest("changes nothing without a difference", () => {
    const plan = planDeployment([{ input: gpuWorker, buildId: "build-1" }], [present(gpuWorker)]);
    expect(actions(plan)).toEqual([["gpu_worker", "unchanged"]]);
  });

  plainTest("compares models in the order in which the service stores them", () => {
    const template = { models: ["b/b", "a/a@v1"], modelTokenSecret: "HF_TOKEN" };
    const resource = { is_load_balanced: false, functions: [], template };
    const input = toEndpointInput("gpu_worker", resource, { volumeIds: [] });
    expect(input.template).toMatchObject({ models: ["a/a@v1", "b/b"], modelTokenSecret: "HF_TOKEN" });
    const without = toEndpointInput(
      "gpu_worker",
      { is_load_balanced: false, functions: [] },
      { volumeIds: [] },
    );
    const plan = planDeployment([{ input, buildId: "build-1" }], [present(without)]);
    expect(actions(plan)).toEqual([["gpu_worker", "update", "models", "modelTokenSecret"]]);
  });

  plainTest("treats another build of the same sources as other code", () => {
    const plan = planDeployment([{ input: gpuWorker, buildId: "build-2" }], [present(gpuWorker)]);
    expect(actions(plan)).toEqual([["gpu_worker", "update", "code"]]);
  });

  plainTest("does not update a custom image when only other code changed", () => {
    const plan = planDeployment([{ input: gpuWorker, buildId: null }], [present(gpuWorker)]);
    expect(actions(plan)).toEqual([["gpu_worker", "unchanged"]]);
  });

  plainTest("names what changes", () => {
    const { template } = gpuWorker;
    const desired = {
      ...gpuWorker,
      workersMax: 3,
      gpuCount: 2,
      template: { ...template, env: [{ key: "MODEL", value: "large" }, ...template.env.slice(1)] },
    };
    const plan = planDeployment([{ input: desired, buildId: "build-1" }], [present(gpuWorker)]);
    expect(actions(plan)).toEqual([["gpu_worker", "update", "gpuCount", "workersMax", "env"]]);
  });

  plainTest("keeps the variables of the platform that the app has never set", () => {
    const before = present(gpuWorker);
    const withPort: PresentEndpoint = {
      ...before,
      template: before.template && {
        ...before.template,
        env: [...before.template.env, { key: "PORT", value: "8000" }],
      },
    };
    const desired = [{ input: gpuWorker, buildId: "build-1" }];
    expect(actions(planDeployment(desired, [withPort]))).toEqual([["gpu_worker", "unchanged"]]);
    const ownVariablesBefore = { gpu_worker: ["PORT"] };
    expect(actions(planDeployment(desired, [withPort], { ownVariablesBefore }))).toEqual([
      ["gpu_worker", "update", "env"],
    ]);
  });

  plainTest("cannot turn a queue into routes", () => {
    const desired: EndpointInput = { ...gpuWorker, type: "LB", scalerType: "REQUEST_COUNT" };
    const plan = planDeployment([{ input: desired, buildId: "build-1" }], [present(gpuWorker)]);
    expect(plan.ofOtherType.map(({ name }) => name)).toEqual(["gpu_worker"]);
    expect(actions(plan)).toEqual([["gpu_worker", "create"]]);
  });
});

const word = fc.stringMatching(/^[a-z][a-z0-9_]{0,6}$/);
const input = fc
  .record({
    workersMax: fc.integer({ min: 0, max: 3 }),
    idleTimeout: fc.integer({ min: 1, max: 3 }),
    isCpu: fc.boolean(),
    isLoadBalanced: fc.boolean(),
    executionTimeoutMs: fc.constantFrom(0, 600_000, 5_000),
    env: fc.dictionary(word, word, { maxKeys: 3 }),
    fingerprint: fc.constantFrom("a", "b"),
  })
  .map(({ isCpu, isLoadBalanced, fingerprint, ...rest }) =>
    toEndpointInput(
      "any",
      {
        ...rest,
        is_load_balanced: isLoadBalanced,
        functions: [],
        ...(isCpu ? { instanceIds: ["cpu3c-1-2"] } : { gpuIds: "ADA_24" }),
      },
      { fingerprint, volumeIds: [] },
    ),
  );

test.prop([input, input])("a repeated deployment changes nothing", (before, after) => {
  const desired = [{ input: after, buildId: "build-1" }];
  const [planned] = planDeployment(desired, [present(before)]).endpoints;
  const done = planDeployment(desired, [present(planned?.input ?? after)]);
  expect(done.endpoints.map(({ action }) => action)).toEqual(["unchanged"]);
});

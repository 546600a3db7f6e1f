/** Models in real containers. */
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, type ExpectStatic, test } from "vitest";
import { EdgeClient } from "../../node-agent/edge/edge-client.ts";
import { removeWorkerNetwork } from "../../node-agent/runtime/create-runtime.ts";
import { DockerRuntime } from "../../node-agent/runtime/docker/docker-runtime.ts";
import type { WorkerSpec } from "../../node-agent/runtime/interface/runtime.ts";
import type { AssignedModels } from "../../src/contract/model.ts";
import { ensureTestImage, isDockerAvailable, TEST_IMAGE } from "../support/docker.ts";
import { MemoryImageStore } from "../support/memory-image-store.ts";
import { ModelHub, sha256Of } from "../support/model-hub.ts";
import { printed, shell, workerSpec } from "./runtime-conformance.ts";

const hasDocker = await isDockerAvailable();
const networkName = `edgerun-test-${randomUUID().slice(0, 8)}`;
const HUB = "/runpod-volume/huggingface-cache/hub";
const WEIGHTS = randomBytes(1_000_000);

describe.runIf(hasDocker)("models in containers", () => {
  let hub: ModelHub;
  let stateDirectory = "";
  let runtime: DockerRuntime;
  const assigned = new Set<string>();

  beforeAll(async () => {
    await ensureTestImage();
  });
  beforeEach(async () => {
    hub = await ModelHub.start();
    stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-models-"));
    assigned.clear();
    runtime = new DockerRuntime({
      hostId: `${networkName}-${randomUUID().slice(0, 8)}`,
      networkName,
      hasRealGpus: false,
      isOpenNetworkAllowed: true,
      artifacts: { stateDirectory },
      models: { progressMs: 0, maxBytes: 2_500_000 },
    });
    runtime.configureCache({
      cachedImages: new MemoryImageStore(),
      assignedImages: () => new Set(),
      assignedArtifacts: () => new Set(),
      assignedModels: () => assigned,
      artifacts: new EdgeClient("http://127.0.0.1:1", ""),
    });
  });
  afterEach(async () => {
    for (const { workerId } of await runtime.list()) await runtime.remove(workerId);
    await runtime.close();
    await hub[Symbol.asyncDispose]();
    await rm(stateDirectory, { recursive: true, force: true });
  });
  afterAll(() => removeWorkerNetwork(networkName));

  const modelsOf = (...references: string[]): AssignedModels => ({ source: hub.url, references });
  const isStored = (name: string): boolean =>
    existsSync(join(stateDirectory, "models", "hub", `models--org--${name}`));

  /** Once it was started it is its container alone that keeps the model. */
  async function started(expect: ExpectStatic, id: string, script: string): Promise<WorkerSpec> {
    const spec = workerSpec(TEST_IMAGE, shell(script), { models: modelsOf(id) });
    assigned.add(id);
    expect(await runtime.prepare(spec, () => {})).toEqual({ kind: "prepared" });
    await runtime.start(spec);
    assigned.delete(id);
    return spec;
  }

  test("workers read them at the path that libraries expect, can change nothing, and share one download", async ({
    expect,
  }) => {
    const commit = hub.add("org/name", { "config.json": "{}", "sub/weights": WEIGHTS });
    hub.add("org/other", { "config.json": "{}" });
    const place = `${HUB}/models--org--name`;
    const script = [
      `cat ${place}/refs/main; echo`,
      `sha256sum ${place}/snapshots/${commit}/sub/weights`,
      `touch ${place}/new || echo no new file`,
      `echo x >>${place}/snapshots/${commit}/config.json || echo no change`,
      `touch ${HUB}/of-its-own && ls ${HUB}`,
      "env; echo ready; sleep 1000",
    ].join("; ");
    await started(expect, "org/other", "sleep 1000");
    for (let worker = 0; worker < 2; worker += 1) {
      const { workerId } = await started(expect, "org/name", script);
      await printed(expect, runtime, workerId, "ready");
      expect(await runtime.lastLines(workerId, 50)).toEqual(
        expect.arrayContaining([
          commit,
          `${sha256Of(WEIGHTS)}  ${place}/snapshots/${commit}/sub/weights`,
          "no new file",
          "no change",
          "models--org--name",
          "of-its-own",
          `HF_HUB_CACHE=${HUB}`,
          "HF_HUB_OFFLINE=1",
        ]),
      );
      expect(await runtime.lastLines(workerId, 50)).not.toContain("models--org--other");
    }
    expect(hub.asked.filter(({ path }) => path === "sub/weights")).toHaveLength(1);
  });

  test("they stay while a container uses them, frozen or ended, and give way after the last", async ({
    expect,
  }) => {
    for (const name of ["one", "two", "three"]) hub.add(`org/${name}`, { weights: randomBytes(1_000_000) });
    const frozen = await started(expect, "org/one", "sleep 1000");
    await runtime.freeze(frozen.workerId);
    const ended = await started(expect, "org/two", "true");
    await runtime.stop(ended.workerId, 0);
    const third = workerSpec(TEST_IMAGE, shell("true"), { models: modelsOf("org/three") });
    expect(await runtime.prepare(third, () => {})).toMatchObject({ kind: "failed" });
    expect(["one", "two", "three"].map(isStored)).toEqual([true, true, false]);

    await runtime.remove(frozen.workerId);
    await started(expect, "org/three", "true");
    expect(["one", "two", "three"].map(isStored)).toEqual([false, true, true]);
  });
});

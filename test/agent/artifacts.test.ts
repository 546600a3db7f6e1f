/** Files of apps on their way from a scripted edge to workers that are plain processes. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, onTestFinished, test } from "vitest";
import { ArtifactDirectory, readArtifactUsage } from "../../node-agent/artifacts/artifact-directory.ts";
import { ArtifactStore } from "../../node-agent/artifacts/artifact-store.ts";
import { EdgeClient } from "../../node-agent/edge/edge-client.ts";
import { DiskSpace } from "../../node-agent/disk/disk-space.ts";
import { ProcessRuntime } from "../../node-agent/runtime/process/process-runtime.ts";
import type { Artifact } from "../../src/contract/agent/artifact.ts";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { AgentProcess } from "../support/agent-process.ts";
import { archiveOf } from "../support/archive.ts";
import { MemoryImageStore } from "../support/memory-image-store.ts";
import { HOST_TOKEN, ScriptedEdge } from "../support/scripted-edge.ts";
import { printed, workerSpec } from "./runtime-conformance.ts";

/** Large enough to arrive in many pieces; nothing of it can be packed. */
const BULK = randomBytes(3_000_000);
const ARCHIVE = archiveOf([
  { path: "flash_manifest.json", body: "{}" },
  { path: "model/weights.bin", body: BULK },
]);

function storedFile(host: AgentFixture, sha256: string, name: string): string {
  return join(host.stateDir, "artifacts", sha256, "app", name);
}

/** Whether the large file is there as it was packed; `toEqual` takes a second for as many bytes. */
async function hasBulk(host: AgentFixture, { sha256 }: Artifact): Promise<boolean> {
  return BULK.equals(await readFile(storedFile(host, sha256, "model/weights.bin")));
}

test("files of an app are downloaded once for several workers, and stay cached", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const artifact = host.edge.artifacts.add(ARCHIVE);
  const workers = ["worker-1", "worker-2"].map((workerId) => assignment({ workerId, artifact }));
  host.edge.assign(...workers);
  for (const { workerId } of workers) await host.edge.worker(workerId, "ready");
  expect(await hasBulk(host, artifact)).toBe(true);
  await host.stopAgent();
  await host.startAgent();
  host.edge.assign(...workers, assignment({ workerId: "worker-3", artifact }));
  await host.edge.worker("worker-3", "ready");
  expect(host.edge.artifacts.asked).toEqual([""]);
  expect(host.count("artifact_stored")).toBe(1);
});

test("an interrupted download resumes where it stopped", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const artifact = host.edge.artifacts.add(ARCHIVE);
  host.edge.artifacts.mishaps.push({ kind: "break", after: 1_000_000 }, { kind: "break", after: 500_000 });
  await host.readyWorker({ artifact });
  const [first, ...offsets] = host.edge.artifacts.asked.map((range) => Number(/\d+/.exec(range)?.[0] ?? 0));
  const [second = 0, third = 0] = offsets;
  expect([first, offsets.length]).toEqual([0, 2]);
  // What was sent last may be lost with its connection.
  expect(second).toBeGreaterThan(0);
  expect(second).toBeLessThanOrEqual(1_000_000);
  expect(third).toBeGreaterThanOrEqual(second);
  expect(third).toBeLessThanOrEqual(second + 500_000);
  expect(await hasBulk(host, artifact)).toBe(true);
});

test("an edge that knows no ranges sends all of it again", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const artifact = host.edge.artifacts.add(ARCHIVE);
  host.edge.artifacts.mishaps.push({ kind: "break", after: 1_000_000 }, { kind: "ignore_range" });
  await host.readyWorker({ artifact });
  expect(host.edge.artifacts.asked).toHaveLength(2);
  expect(await hasBulk(host, artifact)).toBe(true);
});

test("bytes with another SHA-256 are discarded, and the worker reports that until the right ones arrive", async ({
  expect,
}) => {
  await using host = await AgentFixture.start({ restartBaseMs: 300 });
  const artifact = host.edge.artifacts.add(ARCHIVE);
  host.edge.artifacts.mishaps.push({ kind: "damage" });
  host.edge.assign(assignment({ artifact }));
  const { detail } = await host.edge.until(() =>
    host.edge.syncs.at(-1)?.workers.find((worker) => worker.detail?.includes("SHA-256")),
  );
  expect(detail).toMatch(new RegExp(`[0-9a-f]{64}.*${artifact.sha256}`));
  await host.edge.worker("worker-1", "ready");
  expect(host.edge.artifacts.asked).toEqual(["", ""]);
});

test("an artifact that the edge does not have is reported as a problem of the worker", async ({ expect }) => {
  await using host = await AgentFixture.start();
  host.edge.assign(assignment({ artifact: { sha256: "0".repeat(64), sizeBytes: 10 } }));
  const { state, detail } = await host.edge.until(() =>
    host.edge.syncs.at(-1)?.workers.find((worker) => worker.detail?.includes("no such artifact")),
  );
  expect(state).toBe("pulling");
  expect(detail).toContain("tries again in");
});

test("a hostile archive is not unpacked, and leaves nothing outside", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const artifact = host.edge.artifacts.add(
    archiveOf([
      { path: "good.py", body: "1" },
      { path: "../../escaped", body: "2" },
    ]),
  );
  host.edge.assign(assignment({ artifact }));
  const { detail } = await host.edge.until(() =>
    host.edge.syncs.at(-1)?.workers.find((worker) => worker.detail?.includes("archive")),
  );
  expect(detail).toMatch(/"..\/..\/escaped"/);
  expect(existsSync(join(host.stateDir, "artifacts", "escaped"))).toBe(false);
  expect(existsSync(join(host.stateDir, "artifacts", artifact.sha256))).toBe(false);
});

test("an agent that is killed while it downloads leaves what came to the next one", async ({ expect }) => {
  await using host = await AgentFixture.create();
  const artifact = host.edge.artifacts.add(ARCHIVE);
  host.edge.artifacts.mishaps.push({ kind: "stall", after: 1_000_000 });
  host.edge.assign(assignment({ artifact }));
  const settings = { edgeUrl: host.edge.url, stateDir: host.stateDir };
  await using first = AgentProcess.start(settings);
  const incoming = join(host.stateDir, "artifacts", "incoming", artifact.sha256);
  await expect.poll(() => sizeOf(incoming), { interval: 20 }).toBe(1_000_000);
  await first.kill();

  await using second = AgentProcess.start(settings, {});
  await host.edge.worker("worker-1", "ready");
  expect(host.edge.artifacts.asked).toEqual(["", "bytes=1000000-"]);
  expect(second.stderr).toContain("artifact_stored");
  expect(await hasBulk(host, artifact)).toBe(true);
});

describe("the files that a host keeps", () => {
  let edge: ScriptedEdge;
  let stateDirectory = "";
  beforeEach(async () => {
    edge = await ScriptedEdge.start();
    stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-artifacts-"));
  });
  afterEach(async () => {
    await edge[Symbol.asyncDispose]();
    await rm(stateDirectory, { recursive: true, force: true });
  });

  const appOf = (body: string): Artifact => edge.artifacts.add(archiveOf([{ path: "main.py", body }]));

  /** As much disk as so many builds take. */
  function storeFor(count: number, assigned: ReadonlySet<string>): ArtifactStore {
    const directory = new ArtifactDirectory(stateDirectory);
    const disk = new DiskSpace({
      freeBytes: async () => count - (await directory.list()).length,
      reserveBytes: 1,
      checkIntervalMs: 3_600_000,
    });
    onTestFinished(() => disk.close());
    const artifacts = new EdgeClient(edge.url, HOST_TOKEN);
    const store = new ArtifactStore({ stateDirectory, disk, usedByWorkers: async () => new Set() });
    store.configureCache({ artifacts, assignedArtifacts: () => assigned });
    return store;
  }

  test("are removed least recently used first when the disk is full, except assigned ones", async ({
    expect,
  }) => {
    const apps = ["1", "2", "3", "4"].map(appOf);
    const [first, second, third, fourth] = apps.map(({ sha256 }) => sha256);
    const store = storeFor(3, new Set([first ?? ""]));
    const directory = new ArtifactDirectory(stateDirectory);
    for (const [index, app] of apps.slice(0, 3).entries()) {
      expect(await store.prepare(app, () => {})).toEqual({ kind: "prepared" });
      await directory.touch(app.sha256, new Date(index * 1_000));
    }
    for (const app of apps.slice(3)) await store.prepare(app, () => {});
    const kept = (await directory.list()).map(({ sha256 }) => sha256);
    expect(kept).not.toContain(second);
    expect(new Set(kept)).toEqual(new Set([first, third, fourth]));
    expect(await readArtifactUsage(stateDirectory)).toMatchObject({ count: 3 });
  });

  test("go as half downloads, too", async ({ expect }) => {
    const half = appOf("half");
    const store = storeFor(1, new Set());
    edge.artifacts.mishaps.push({ kind: "break", after: 60 }, { kind: "break", after: 0 });
    expect(await store.prepare(half, () => {})).toMatchObject({
      kind: "failed",
      detail: expect.stringContaining("broke off"),
    });
    expect(await new ArtifactDirectory(stateDirectory).list()).toMatchObject([
      { isComplete: false, sizeBytes: 60 },
    ]);
    const whole = appOf("whole");
    await store.prepare(whole, () => {});
    expect(await new ArtifactDirectory(stateDirectory).list()).toMatchObject([
      { sha256: whole.sha256, isComplete: true },
    ]);
  });

  test("are unpacked again where an agent was killed while it unpacked them", async ({ expect }) => {
    const app = appOf("1");
    const begun = join(stateDirectory, "artifacts", "unpacking", `${app.sha256}-0`);
    await mkdir(join(begun, "app"), { recursive: true });
    expect(await storeFor(9, new Set()).prepare(app, () => {})).toEqual({ kind: "prepared" });
    expect(existsSync(begun)).toBe(false);
    expect(edge.artifacts.asked).toEqual([""]);
  });

  test("are downloaded again after a boot, unless they were on the disk before it", async ({ expect }) => {
    const app = appOf("1");
    const store = storeFor(9, new Set());
    await store.prepare(app, () => {});
    const boot = join(stateDirectory, "artifacts", app.sha256, "boot");
    await expect.poll(() => existsSync(boot), { interval: 20 }).toBe(false);
    await store.prepare(app, () => {});
    expect(edge.artifacts.asked).toEqual([""]);

    await writeFile(boot, "an earlier one");
    expect(await store.prepare(app, () => {})).toEqual({ kind: "prepared" });
    expect(edge.artifacts.asked).toEqual(["", ""]);
  });

  test("a worker that is no longer assigned cancels its download, and another one resumes it", async ({
    expect,
  }) => {
    const app = edge.artifacts.add(ARCHIVE);
    const store = storeFor(9, new Set());
    edge.artifacts.mishaps.push({ kind: "stall", after: 1_000_000 });
    const calledOff = new AbortController();
    const details: string[] = [];
    const first = store.prepare(app, (detail) => details.push(detail), calledOff.signal);
    const incoming = new ArtifactDirectory(stateDirectory).incomingPath(app.sha256);
    await expect.poll(() => sizeOf(incoming), { interval: 20 }).toBe(1_000_000);
    calledOff.abort();
    expect(await first).toMatchObject({ kind: "failed" });
    expect(await store.prepare(app, () => {})).toEqual({ kind: "prepared" });
    expect(edge.artifacts.asked).toEqual(["", "bytes=1000000-"]);
    expect(details[0]).toBe("downloading the app's files 0 of 3 MB");
  });

  test.for([
    ["the host's Python", {}, "python3"],
    ["the version of the build, where the host has it", { FLASH_PYTHON_VERSION: "3.11" }, "python3.11"],
    ["python3 where it has not", { FLASH_PYTHON_VERSION: "3.99" }, "python3"],
    ["what the template names", { FLASH_PYTHON: "other-python" }, "other-python"],
  ] as const)("are run by %s when there is no command", async ([, wanted, name], { expect }) => {
    const bin = join(stateDirectory, "bin");
    await mkdir(bin);
    // Each interpreter says who it is, and what it was told.
    const script =
      '#!/bin/sh\necho "$(basename "$0") $* $PYTHONPATH $FLASH_APP_DIRECTORY $PYTHONDONTWRITEBYTECODE"\n';
    for (const one of ["python3", "python3.11", "other-python"]) {
      await writeFile(join(bin, one), script, { mode: 0o755 });
    }
    const artifact = appOf("1");
    const runtime = new ProcessRuntime({ stateDirectory, hasRealGpus: false, pythonPackage: "/sdk" });
    onTestFinished(() => runtime.close());
    const artifacts = new EdgeClient(edge.url, HOST_TOKEN);
    const nothing = () => new Set<string>();
    runtime.configureCache({
      cachedImages: new MemoryImageStore(),
      assignedImages: nothing,
      assignedArtifacts: nothing,
      assignedModels: () => new Set(),
      artifacts,
    });
    const env = { PATH: `${bin}:/usr/bin:/bin`, PYTHONPATH: "/own", ...wanted };
    const spec = workerSpec("", "", { artifact, env });
    expect(await runtime.prepare(spec, () => {})).toEqual({ kind: "prepared" });
    await runtime.start(spec);
    const app = join(stateDirectory, "artifacts", artifact.sha256, "app");
    await printed(expect, runtime, spec.workerId, `${name} -m edgerun.runtime ${app}:/sdk:/own ${app} 1`);
    await runtime.remove(spec.workerId);
  });
});

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

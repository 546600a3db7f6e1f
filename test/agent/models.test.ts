/** Models on their way from a hub to a host. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, readlink, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, onTestFinished, test } from "vitest";
import { DiskSpace } from "../../node-agent/disk/disk-space.ts";
import { ModelDirectory } from "../../node-agent/models/model-directory.ts";
import { ModelStore, type ModelStoreOptions } from "../../node-agent/models/model-store.ts";
import type { AssignedModels } from "../../src/contract/model.ts";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { AgentProcess } from "../support/agent-process.ts";
import { gitIdOf, ModelHub, sha256Of } from "../support/model-hub.ts";

/** Large enough to arrive in many pieces. */
const WEIGHTS = randomBytes(3_000_000);
const CONFIG = Buffer.from('{"model_type": "test"}');
const FILES = { "config.json": CONFIG, "sub/weights.bin": WEIGHTS, empty: "" };
const BYTES = WEIGHTS.length + CONFIG.length;
const ID = "org/name";
const FOLDER = "models--org--name";

let hub: ModelHub;
let stateDirectory = "";
beforeEach(async () => {
  hub = await ModelHub.start();
  stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-models-"));
});
afterEach(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(stateDirectory, { recursive: true, force: true });
});

const modelsOf = (...references: string[]): AssignedModels => ({ source: hub.url, references });

function placeIn(directory: string, ...names: string[]): string {
  return join(directory, "models", "hub", FOLDER, ...names);
}

type StoreOptions = Partial<ModelStoreOptions> & { readonly assigned?: ReadonlySet<string> };

function storeWith({ assigned = new Set(), ...options }: StoreOptions = {}): ModelStore {
  const disk = new DiskSpace({ freeBytes: async () => null, reserveBytes: 0, checkIntervalMs: 3_600_000 });
  onTestFinished(() => disk.close());
  const store = new ModelStore({
    stateDirectory,
    disk,
    usedByWorkers: async () => new Set(),
    progressMs: 0,
    retry: { baseMs: 1, capMs: 2 },
    ...options,
  });
  store.configureCache({ assignedModels: () => assigned });
  return store;
}

describe("a model", () => {
  test("is stored as Hugging Face's libraries read it", async ({ expect }) => {
    const commit = hub.add(ID, FILES);
    expect(await storeWith().prepare(modelsOf(ID), () => {})).toEqual({ kind: "prepared" });
    const blobs = [sha256Of(WEIGHTS), gitIdOf(CONFIG), gitIdOf(Buffer.alloc(0))];
    expect(new Set(await readdir(placeIn(stateDirectory, "blobs")))).toEqual(new Set(blobs));
    expect(await readFile(placeIn(stateDirectory, "refs", "main"), "utf8")).toBe(commit);
    const snapshot = placeIn(stateDirectory, "snapshots", commit);
    expect(await readlink(join(snapshot, "config.json"))).toBe(`../../blobs/${gitIdOf(CONFIG)}`);
    expect(await readlink(join(snapshot, "sub/weights.bin"))).toBe(`../../../blobs/${sha256Of(WEIGHTS)}`);
    expect(WEIGHTS.equals(await readFile(join(snapshot, "sub/weights.bin")))).toBe(true);
    expect(await readFile(join(snapshot, "empty"), "utf8")).toBe("");
    // Workers need not be root.
    expect((await stat(join(snapshot, "config.json"))).mode & 0o777).toBe(0o644);
    expect(hub.sentBytes).toBe(BYTES);
  });

  test("is downloaded once for workers that need it at the same time, and not again later", async ({
    expect,
  }) => {
    hub.add(ID, FILES);
    const store = storeWith();
    const details: string[] = [];
    const outcomes = await Promise.all([
      store.prepare(modelsOf(ID), (detail) => details.push(detail)),
      store.prepare(modelsOf(ID), () => {}),
      store.prepare({ ...modelsOf(ID), token: "another" }, () => {}),
    ]);
    expect(outcomes).toEqual([{ kind: "prepared" }, { kind: "prepared" }, { kind: "prepared" }]);
    expect(await storeWith().prepare(modelsOf(ID), () => {})).toEqual({ kind: "prepared" });
    expect(hub.sentBytes).toBe(BYTES);
    expect(details[0]).toBe("pulling model org/name 0 % (0 of 3 MB)");
    expect(details.at(-1)).toBe("pulling model org/name 100 % (3 of 3 MB)");
  });

  test("is not asked for where its commit is named and here", async ({ expect }) => {
    const commit = hub.add(ID, FILES);
    const store = storeWith();
    await store.prepare(modelsOf(`${ID}@${commit}`), () => {});
    hub.apiCalls.length = 0;
    expect(await store.prepare(modelsOf(`${ID}@${commit}`), () => {})).toEqual({ kind: "prepared" });
    expect(hub.apiCalls).toEqual([]);
    expect(existsSync(placeIn(stateDirectory, "refs", commit))).toBe(false);
  });

  test("follows its branch, and shares contents with the commit before", async ({ expect }) => {
    const first = hub.add(ID, FILES);
    const store = storeWith();
    await store.prepare(modelsOf(ID), () => {});
    const second = hub.add(ID, { ...FILES, "config.json": "{}" });
    await store.prepare(modelsOf(ID), () => {});
    expect(hub.sentBytes).toBe(BYTES + 2);
    expect(new Set(await readdir(placeIn(stateDirectory, "snapshots")))).toEqual(new Set([first, second]));
    expect(await readFile(placeIn(stateDirectory, "refs", "main"), "utf8")).toBe(second);
  });

  test("is used as it is while the hub does not answer, with a warning", async ({ expect }) => {
    const commit = hub.add(ID, FILES);
    const store = storeWith();
    await store.prepare(modelsOf(ID), () => {});
    hub.apiStatus = 503;
    expect(await store.prepare(modelsOf(ID), () => {})).toEqual({
      kind: "prepared",
      warning: expect.stringContaining(`commit ${commit}`),
    });
    expect(await store.prepare(modelsOf("org/other"), () => {})).toMatchObject({ kind: "failed" });
    hub.apiStatus = 200;
    expect(await store.prepare(modelsOf(ID), () => {})).toEqual({ kind: "prepared" });
  });

  test("is listed page by page", async ({ expect }) => {
    hub.pageSize = 7;
    const paths = Array.from({ length: 40 }, (_, index) => `part-${index}`);
    const commit = hub.add(ID, Object.fromEntries(paths.map((path) => [path, path])));
    await storeWith().prepare(modelsOf(ID), () => {});
    expect(new Set(await readdir(placeIn(stateDirectory, "snapshots", commit)))).toEqual(new Set(paths));
  });

  test("of many files comes a few files at a time", async ({ expect }) => {
    const paths = Array.from({ length: 40 }, (_, index) => `part-${index}`);
    hub.add(ID, Object.fromEntries(paths.map((path) => [path, path])));
    for (const path of paths) hub.fail(path, { kind: "stall", after: 0 });
    const calledOff = new AbortController();
    const prepared = storeWith().prepare(modelsOf(ID), () => {}, calledOff.signal);
    await expect.poll(() => hub.asked.length, { interval: 20 }).toBe(4);
    calledOff.abort();
    expect(await prepared).toMatchObject({ kind: "failed" });
    expect(hub.asked).toHaveLength(4);
  });

  test("that is private comes with its token, which other servers do not get", async ({ expect }) => {
    hub.add(ID, FILES, "hf_good");
    const store = storeWith();
    const without = await store.prepare(modelsOf(ID), () => {});
    expect(without).toMatchObject({
      kind: "failed",
      detail: expect.stringContaining("set modelTokenSecret"),
    });
    const wrong = await store.prepare({ ...modelsOf(ID), token: "hf_bad" }, () => {});
    expect(wrong).toMatchObject({ kind: "failed", detail: expect.stringContaining("may not read it") });
    expect(await store.prepare({ ...modelsOf(ID), token: "hf_good\n" }, () => {})).toEqual({
      kind: "prepared",
    });
    expect(hub.leakedTokens).toEqual([]);
  });

  test("that is unknown is named, and what is no token is not shown", async ({ expect }) => {
    const store = storeWith();
    expect(await store.prepare(modelsOf("org/none@v1"), () => {})).toMatchObject({
      detail: expect.stringMatching(/^Model org\/none@v1 is unknown to 127\.0\.0\.1:\d+\./),
    });
    const outcome = await store.prepare({ ...modelsOf(ID), token: "secret\nvalue" }, () => {});
    expect(outcome).toMatchObject({ kind: "failed", detail: expect.stringContaining("is no token") });
    expect(JSON.stringify(outcome)).not.toContain("secret\\nvalue");
  });
});

describe("a download", () => {
  const rangesOf = (path: string) => hub.asked.filter((call) => call.path === path);

  test("of an agent that is killed at 50 % goes on there", async ({ expect }) => {
    await using host = await AgentFixture.create();
    const half = WEIGHTS.length / 2;
    const commit = hub.add(ID, FILES);
    hub.fail("sub/weights.bin", { kind: "stall", after: half });
    host.edge.assign(assignment({ models: modelsOf(ID) }));
    const settings = { edgeUrl: host.edge.url, stateDir: host.stateDir };
    await using first = AgentProcess.start(settings);
    const incomplete = placeIn(host.stateDir, "blobs", `${sha256Of(WEIGHTS)}.incomplete`);
    await expect.poll(() => sizeOf(incomplete), { interval: 20 }).toBe(half);
    await first.kill();
    expect(existsSync(placeIn(host.stateDir, "snapshots", commit))).toBe(false);

    await using second = AgentProcess.start(settings, {});
    await host.edge.worker("worker-1", "ready");
    const [, resumed] = rangesOf("sub/weights.bin");
    expect(resumed).toEqual({
      path: "sub/weights.bin",
      range: `bytes=${half}-`,
      ifRange: `"of ${sha256Of(WEIGHTS).slice(0, 16)}"`,
    });
    expect(hub.sentBytes).toBe(BYTES);
    expect(second.stderr).toContain("model_stored");
    const stored = await readFile(placeIn(host.stateDir, "snapshots", commit, "sub/weights.bin"));
    expect(WEIGHTS.equals(stored)).toBe(true);
  });

  test("goes on after its connection breaks, and after errors of the hub", async ({ expect }) => {
    hub.add(ID, FILES);
    const status = { kind: "status", status: 503 } as const;
    hub.fail("sub/weights.bin", status, { kind: "break", after: 1_000_000 }, status, status);
    expect(await storeWith().prepare(modelsOf(ID), () => {})).toEqual({ kind: "prepared" });
    const calls = rangesOf("sub/weights.bin");
    expect(calls).toHaveLength(5);
    const from = Number(/\d+/.exec(calls[4]?.range ?? "")?.[0]);
    expect(from).toBeGreaterThan(0);
    expect(hub.sentBytes).toBe(1_000_000 + BYTES - from);
  });

  test("begins again where the hub sends all of it", async ({ expect }) => {
    hub.add(ID, FILES);
    hub.fail("sub/weights.bin", { kind: "break", after: 1_000_000 }, { kind: "ignore_range" });
    expect(await storeWith().prepare(modelsOf(ID), () => {})).toEqual({ kind: "prepared" });
    expect(rangesOf("sub/weights.bin")).toHaveLength(2);
  });

  test("ends after a few calls that bring nothing", async ({ expect }) => {
    hub.add(ID, FILES);
    hub.fail("config.json", ...Array.from({ length: 9 }, () => ({ kind: "status", status: 500 }) as const));
    expect(await storeWith().prepare(modelsOf(ID), () => {})).toMatchObject({
      kind: "failed",
      detail: expect.stringContaining("answers 500"),
    });
    expect(rangesOf("config.json")).toHaveLength(5);
  });

  test.for(["config.json", "sub/weights.bin"])(
    "of %s with another hash is refused",
    async (path, { expect }) => {
      const commit = hub.add(ID, FILES);
      hub.fail(path, { kind: "damage" });
      const store = storeWith();
      expect(await store.prepare(modelsOf(ID), () => {})).toMatchObject({
        kind: "failed",
        detail: expect.stringMatching(
          /came damaged and was thrown away: its hash is [0-9a-f]+, and [0-9a-f]+ was/,
        ),
      });
      expect(existsSync(placeIn(stateDirectory, "snapshots", commit))).toBe(false);
      expect((await readdir(placeIn(stateDirectory, "blobs"))).join(" ")).not.toContain(
        path === "config.json" ? gitIdOf(CONFIG) : sha256Of(WEIGHTS),
      );
      expect(await store.prepare(modelsOf(ID), () => {})).toEqual({ kind: "prepared" });
    },
  );

  test("ends with its last waiting worker, and another one goes on", async ({ expect }) => {
    hub.add(ID, FILES);
    hub.fail("sub/weights.bin", { kind: "stall", after: 1_000_000 });
    const store = storeWith();
    const calledOff = new AbortController();
    const first = store.prepare(modelsOf(ID), () => {}, calledOff.signal);
    const incomplete = placeIn(stateDirectory, "blobs", `${sha256Of(WEIGHTS)}.incomplete`);
    await expect.poll(() => sizeOf(incomplete), { interval: 20 }).toBe(1_000_000);
    calledOff.abort();
    expect(await first).toMatchObject({ kind: "failed" });
    expect(await store.prepare(modelsOf(ID), () => {})).toEqual({ kind: "prepared" });
    expect(hub.sentBytes).toBe(BYTES);
  });
});

test.for([
  ["../../escaped"],
  ["/etc/escaped"],
  ["a/../../escaped"],
  ["a//b"],
  ["./a"],
  ["a\\b"],
  ["a\0b"],
  ["x".repeat(300)],
  ["config.json/below"],
  ["config.json"],
])("a hub that names the file %j is not obeyed", async ([path], { expect }) => {
  const commit = hub.add(ID, FILES);
  hub.tamper = (entries) => [...entries, { ...entries.at(-1), path }];
  expect(await storeWith().prepare(modelsOf(ID), () => {})).toMatchObject({
    kind: "failed",
    detail: expect.stringContaining("is unusable"),
  });
  expect(hub.sentBytes).toBe(0);
  expect(existsSync(placeIn(stateDirectory, "snapshots", commit))).toBe(false);
});

test.for([
  { oid: "../../../etc/passwd" },
  { lfs: { oid: "../x", size: 1 } },
  { lfs: { oid: "a".repeat(64), size: -1 } },
  { size: "much" },
])("a hub that says %j of a file is not obeyed", async (facts, { expect }) => {
  hub.add(ID, { a: "1" });
  hub.tamper = (entries) => entries.map((entry) => ({ ...entry, ...facts }));
  expect(await storeWith().prepare(modelsOf(ID), () => {})).toMatchObject({
    detail: expect.stringContaining("is unusable"),
  });
  expect(hub.sentBytes).toBe(0);
});

test("a file with more bytes than announced is thrown away", async ({ expect }) => {
  hub.add(ID, FILES);
  hub.tamper = (entries) =>
    entries.map((entry) =>
      entry["path"] === "sub/weights.bin"
        ? { ...entry, lfs: { oid: sha256Of(WEIGHTS), size: 1_000 } }
        : entry,
    );
  expect(await storeWith().prepare(modelsOf(ID), () => {})).toMatchObject({
    detail: expect.stringContaining("more than the 1000 bytes"),
  });
});

describe("models on a host", () => {
  const weights = (): Record<string, Buffer> => ({ weights: randomBytes(10_000) });
  const stored = async (): Promise<string[]> => {
    const models = await new ModelDirectory(stateDirectory).list();
    return models.filter(({ snapshots }) => snapshots.length > 0).map(({ id }) => id);
  };

  test("give way least recently used first, except those in use", async ({ expect }) => {
    const ids = ["a/1", "a/2", "a/3", "a/4"];
    const commits = ids.map((id) => hub.add(id, weights()));
    const store = storeWith({
      maxBytes: 35_000,
      assigned: new Set(["a/1"]),
      usedByWorkers: async () => new Set(["a/3"]),
    });
    const directory = new ModelDirectory(stateDirectory);
    const usedAt = [0, 2_000, 1_000];
    for (const [index, id] of ids.slice(0, 3).entries()) {
      expect(await store.prepare(modelsOf(id), () => {})).toEqual({ kind: "prepared" });
      await directory.touch(id, commits[index] ?? "", new Date(usedAt[index] ?? 0));
    }
    expect(await store.prepare(modelsOf("a/4"), () => {})).toEqual({ kind: "prepared" });
    expect((await stored()).toSorted()).toEqual(["a/1", "a/3", "a/4"]);
  });

  test("that are all in use leave no space, which the worker says", async ({ expect }) => {
    for (const id of ["a/1", "a/2"]) hub.add(id, weights());
    const store = storeWith({ maxBytes: 15_000, assigned: new Set(["a/1"]) });
    await store.prepare(modelsOf("a/1"), () => {});
    expect(await store.prepare(modelsOf("a/2"), () => {})).toMatchObject({
      kind: "failed",
      detail: expect.stringMatching(/a\/2@main takes 10 kB, .* 15 kB .*--model-cache-gb/),
    });
    expect(hub.sentBytes).toBe(10_000);
  });

  test("leave nothing of a commit that goes, but what others share", async ({ expect }) => {
    const first = hub.add(ID, { ...FILES, old: randomBytes(5_000) });
    const store = storeWith();
    await store.prepare(modelsOf(ID), () => {});
    const second = hub.add(ID, FILES);
    await store.prepare(modelsOf(ID), () => {});
    const directory = new ModelDirectory(stateDirectory);
    await directory.touch(ID, first, new Date(0));
    const [oldest] = (await store.removable()).toSorted((a, b) => a.lastUsedAt - b.lastUsedAt);
    expect(await oldest?.remove()).toBe(true);
    expect(await readdir(placeIn(stateDirectory, "snapshots"))).toEqual([second]);
    expect(await readdir(placeIn(stateDirectory, "blobs"))).toHaveLength(3);
    const config = await realpath(placeIn(stateDirectory, "snapshots", second, "config.json"));
    expect(CONFIG.equals(await readFile(config))).toBe(true);
    for (const one of await store.removable()) await one.remove();
    expect(await readdir(join(stateDirectory, "models", "hub"))).toEqual([]);
  });

  test("give way as half downloads, too", async ({ expect }) => {
    hub.add(ID, FILES);
    hub.fail(
      "sub/weights.bin",
      { kind: "break", after: 50_000 },
      ...Array.from({ length: 5 }, () => ({ kind: "status", status: 500 }) as const),
    );
    const store = storeWith({ maxBytes: 3_000_030 });
    expect(await store.prepare(modelsOf(ID), () => {})).toMatchObject({ kind: "failed" });
    hub.add("a/1", { weights: randomBytes(3_000_000) });
    expect(await store.prepare(modelsOf("a/1"), () => {})).toEqual({ kind: "prepared" });
    expect(existsSync(placeIn(stateDirectory))).toBe(false);
  });
});

test("an agent reports the models of its host, also those of an earlier agent", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const commit = hub.add(ID, FILES);
  expect(host.edge.syncs.at(-1)?.models ?? []).toEqual([]);
  await host.readyWorker({ models: modelsOf(ID) });
  const stored = { id: ID, commit, sizeBytes: BYTES };
  expect(await host.edge.until(() => host.edge.syncs.at(-1)?.models?.[0])).toEqual(stored);
  await host.stopAgent();
  host.edge.syncs.length = 0;
  await host.startAgent();
  expect(await host.edge.until(() => host.edge.syncs.find(({ models }) => models?.length)?.models)).toEqual([
    stored,
  ]);
});

test("a worker that is a process finds its model by HF_HUB_CACHE, and no token", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const commit = hub.add(ID, FILES, "hf_secret");
  const models = { ...modelsOf(ID), token: "hf_secret" };
  const command = `sh -c 'env; cat "$HF_HUB_CACHE/${FOLDER}/snapshots/${commit}/config.json"; echo; sleep 1000'`;
  host.edge.assign(assignment({ models, dockerArgs: command }));
  await host.logged("worker_started");
  const runtime = host.runtime();
  onTestFinished(() => runtime.close());
  await expect.poll(() => runtime.lastLines("worker-1", 100), { interval: 20 }).toContain(CONFIG.toString());
  const lines = await runtime.lastLines("worker-1", 100);
  expect(lines).toContain("HF_HUB_OFFLINE=1");
  expect(lines.join("\n")).not.toContain("hf_secret");
  expect(JSON.stringify(host.events)).not.toContain("hf_secret");
});

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

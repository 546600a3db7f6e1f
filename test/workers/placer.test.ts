/** What Fleet keeps in memory: it outlives the endpoints, so nothing of a deleted one may stay. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, test } from "vitest";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import { ObjectDatabase } from "../../src/durable/sql.ts";
import { fleetParts } from "../../src/fleet/fleet-parts.ts";
import type { HostRecord, WorkerRecord } from "../../src/fleet/fleet-store.ts";
import { HostRegister } from "../../src/fleet/host-register.ts";

const config: EndpointConfig = {
  endpointId: "e",
  accountId: "a",
  name: "e",
  type: "QB",
  version: 1,
  workersMin: 0,
  workersMax: 1,
  idleTimeoutSeconds: 5,
  scalerType: "QUEUE_DELAY",
  scalerValue: 4,
  executionTimeoutMs: 60_000,
  gpuTiers: ["ADA_24"],
  excludedGpuModels: [],
  gpuCount: 1,
  locations: [],
};

const HOST: HostRecord = {
  hostId: "h",
  accountId: "a",
  name: "h",
  agentVersion: "test",
  inventory: {
    gpus: [{ index: 0, name: "L4", tier: "ADA_24", memoryMb: 1, isSimulated: false }],
    cpuCount: 2,
    memoryMb: 1_000,
    diskFreeMb: 1_000,
    runtime: "docker",
    canFreeze: true,
  },
  revision: 1,
  isCordoned: false,
  isDrained: false,
  removedAt: null,
};

test("the shortage of a deleted endpoint is forgotten, and so is the endpoint", async ({ expect }) => {
  await runInDurableObject(env.FLEET.getByName(crypto.randomUUID()), (_, { storage }) => {
    const { store, placer } = fleetParts(new ObjectDatabase(storage.sql));
    store.saveWish({ wanted: 1, config });
    placer.review("e");
    placer.plan(0, () => false);
    expect(placer.shortageOf("e")).toMatchObject({ missing: 1, shortage: { reason: "no_host" } });
    expect(placer.isKnown("e")).toBe(true);

    placer.removeWish("e");
    placer.review("e");
    placer.plan(1, () => false);
    expect(placer.shortageOf("e")).toEqual({ missing: 0, shortage: null });
    expect(placer.isKnown("e")).toBe(false);
  });
});

describe("an endpoint whose release needs a place, on a host with two GPUs", () => {
  const HOST = {
    hostId: "h",
    accountId: "a",
    name: "h",
    agentVersion: "test",
    workers: [],
    holdMs: 0,
  };
  const gpu = { name: "card", tier: "ADA_24", memoryMb: 1, isSimulated: false };
  const inventory = {
    gpus: [0, 1].map((index) => ({ ...gpu, index })),
    cpuCount: 8,
    memoryMb: 8_000,
    diskFreeMb: 8_000,
    runtime: "docker" as const,
  };

  /** A fleet in which endpoints want one worker each, and what plans make of it. */
  function openFleet(storage: DurableObjectStorage) {
    const parts = fleetParts(new ObjectDatabase(storage.sql));
    const { store, placer } = parts;
    const register = new HostRegister(parts);
    const sync = (workers: readonly WorkerRecord[], appliedRevision = 0) => {
      const reports = workers.map(({ workerId, endpointId, version: revision }) => {
        return { workerId, endpointId, revision, state: "ready" as const, start: null };
      });
      register.welcome({ ...HOST, inventory, workers: reports, appliedRevision }, 0);
      placer.plan(0, () => true);
    };
    const want = (endpointId: string, version: number) => {
      store.saveWish({ wanted: 1, config: { ...config, endpointId, version } });
      placer.review(endpointId);
      placer.plan(0, () => true);
    };
    const syncAs = (hostId: string, workers: readonly WorkerRecord[], revision: number) => {
      const reports = workers.map(({ workerId, endpointId, version }) => {
        return { workerId, endpointId, revision: version, state: "crash_looping" as const, start: null };
      });
      const none = { ...inventory, gpus: [] };
      register.welcome({ ...HOST, hostId, inventory: none, workers: reports, appliedRevision: revision }, 0);
      placer.plan(0, () => true);
    };
    const versions = (endpointId: string) => store.workersOf(endpointId).map((worker) => worker.version);
    return { store, placer, sync, syncAs, want, versions };
  }

  test("is told of its workers by their own host alone", async ({ expect }) => {
    await runInDurableObject(env.FLEET.getByName(crypto.randomUUID()), (_, { storage }) => {
      const { store, placer, sync, syncAs, want } = openFleet(storage);
      sync([]);
      want("e", 1);
      const [worker] = store.workersOf("e");
      if (!worker) throw new Error("There is no worker.");
      sync([worker]);
      const before = store.workersOf("e");
      syncAs("liar", [worker], Number.MAX_SAFE_INTEGER);
      syncAs("liar", [{ ...worker, workerId: "invented" }], Number.MAX_SAFE_INTEGER);
      expect(store.workersOf("e")).toEqual(before);
      placer.letGo("e", [worker.workerId], 0); // and the room of a leaving one is freed by nobody else
      syncAs("liar", [], Number.MAX_SAFE_INTEGER);
      expect(store.workersOf("e")).toMatchObject([{ hostId: "h", state: "stopping" }]);
    });
  });

  test("comes after one that has none, and gets the place that its own worker gives up", async ({
    expect,
  }) => {
    await runInDurableObject(env.FLEET.getByName(crypto.randomUUID()), (_, { storage }) => {
      const { store, placer, sync, want, versions } = openFleet(storage);
      sync([]);
      want("e", 1);
      const [old] = store.workersOf("e");
      if (!old) throw new Error("There is no worker.");
      sync([old]);

      store.saveWish({ wanted: 1, config: { ...config, endpointId: "e", version: 2 } });
      placer.review("e");
      want("f", 1);
      expect([versions("e"), versions("f")]).toEqual([[1], [1]]);
      expect(placer.shortageOf("e")).toMatchObject({
        missing: 0,
        shortage: null,
        rollShortage: { roomBy: [[old.workerId]] },
      });

      want("d", 1);
      placer.letGo("e", [old.workerId], 0);
      placer.review("e");
      placer.plan(0, () => true);
      sync(store.workersOf("f"), store.hosts.get("h")?.revision ?? 0);
      expect([versions("e"), versions("f"), versions("d")]).toEqual([[2], [1], []]);
    });
  });
});

test("standby workers outlive the memory of Fleet, and run again in their next stint", async ({ expect }) => {
  await runInDurableObject(env.FLEET.getByName(crypto.randomUUID()), (_, { storage }) => {
    const wish = { config: { ...config, flashBootType: "FLASHBOOT" } } as const;
    const before = fleetParts(new ObjectDatabase(storage.sql));
    before.store.saveHost(HOST);
    before.pools.admit("h");
    before.store.saveWish({ ...wish, wanted: 1 });
    before.placer.review("e");
    before.placer.plan(0, () => true);
    const [placed] = before.store.workersOf("e");
    if (!placed) throw new Error("Nothing was placed.");
    before.store.saveWorker({ ...placed, state: "ready" });
    before.store.saveWish({ ...wish, wanted: 0 });
    before.placer.letGo("e", [placed.workerId], 1);
    expect(before.store.workersOf("e")).toMatchObject([{ standbyAt: 1, retiredIn: null, revivals: 0 }]);

    const after = fleetParts(new ObjectDatabase(storage.sql));
    after.store.load();
    after.pools.admit("h");
    after.store.saveWish({ ...wish, wanted: 1 });
    after.placer.reviewAll();
    after.placer.plan(2, () => true);
    expect(after.store.workersOf("e")).toMatchObject([
      { workerId: placed.workerId, standbyAt: null, state: "starting", revivals: 1 },
    ]);
    after.placer.letGo("e", [placed.workerId], 3); // said of the stint before
    expect(after.store.workersOf("e")).toMatchObject([{ standbyAt: null, retiredIn: null }]);
    after.store.saveWorker({ ...placed, standbyAt: null, revivals: 1, state: "ready" });
    after.placer.letGo("e", [`${placed.workerId}/1`], 3);
    expect(after.store.workersOf("e")).toMatchObject([{ standbyAt: 3, retiredIn: null }]);
  });
});

/** What Fleet keeps in memory: it outlives the endpoints, so nothing of a deleted one may stay. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { test } from "vitest";
import type { WorkerState } from "../../src/contract/agent/agent.ts";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import { ObjectDatabase } from "../../src/durable/sql.ts";
import { fleetParts } from "../../src/fleet/composition.ts";
import type { WorkerRecord } from "../../src/fleet/fleet-store.ts";
import { HostRegistry } from "../../src/fleet/hosts/host-registry.ts";

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

/** A fleet whose only plans are those that the test makes, of a host with GPUs for so many workers. */
function openFleet({ storage }: { readonly storage: DurableObjectStorage }, gpuCount = 2) {
  const gpu = { name: "card", tier: "ADA_24", memoryMb: 1, isSimulated: false };
  const inventory = {
    gpus: Array.from({ length: gpuCount }, (_, index) => ({ ...gpu, index })),
    cpuCount: 8,
    memoryMb: 8_000,
    diskFreeMb: 8_000,
    runtime: "docker" as const,
    canFreeze: true,
  };
  const parts = fleetParts(new ObjectDatabase(storage.sql));
  const { store, placer } = parts;
  const register = new HostRegistry(parts);
  const plan = (now = 0) => placer.plan(now, () => true);
  /** The host says which workers it has, all in the state. */
  const sync = (
    workers: readonly WorkerRecord[],
    { hostId = "h", state = "ready" as WorkerState, appliedRevision = 0 } = {},
  ) => {
    const reports = workers.map(({ workerId, endpointId, version: revision }) => {
      return { workerId, endpointId, revision, state, start: null };
    });
    const host = { hostId, accountId: "a", name: "h", agentVersion: "test", holdMs: 0, appliedRevision };
    register.applySync(
      { ...host, inventory: hostId === "h" ? inventory : { ...inventory, gpus: [] }, workers: reports },
      0,
    );
    plan();
  };
  const want = (endpointId: string, settings: Partial<EndpointConfig> = {}) => {
    store.saveDesiredWorkers({ desired: 1, config: { ...config, endpointId, ...settings } });
    placer.review(endpointId);
    plan();
  };
  const letGo = (worker: string, now = 0) => placer.scaleDown("e", [worker], now);
  const only = (endpointId: string) => {
    const [worker, ...others] = store.workersOf(endpointId);
    if (!worker || others.length > 0) throw new Error(`${endpointId} has not one worker.`);
    return worker;
  };
  const versions = (endpointId: string) => store.workersOf(endpointId).map(({ version }) => version);
  return { ...parts, plan, sync, want, letGo, only, versions };
}

/** Runs the work inside a Fleet of its own. */
async function inFleet(work: (state: DurableObjectState) => void): Promise<void> {
  await runInDurableObject(env.FLEET.getByName(crypto.randomUUID()), (_, state) => work(state));
}

test("the placement failure of a deleted endpoint is forgotten, and so is the endpoint", async ({
  expect,
}) => {
  await inFleet((state) => {
    const { placer, want, plan } = openFleet(state);
    want("e");
    expect(placer.placementStatus("e")).toMatchObject({ missing: 1, shortage: { reason: "no_host" } });
    expect(placer.hasEndpoint("e")).toBe(true);

    placer.removeDesiredWorkers("e");
    placer.review("e");
    plan(1);
    expect(placer.placementStatus("e")).toEqual({ missing: 0, shortage: null });
    expect(placer.hasEndpoint("e")).toBe(false);
  });
});

test("reports of a host about workers of another host are ignored", async ({ expect }) => {
  await inFleet((state) => {
    const { store, sync, want, letGo, only } = openFleet(state);
    const liar = {
      hostId: "liar",
      state: "crash_looping",
      appliedRevision: Number.MAX_SAFE_INTEGER,
    } as const;
    sync([]);
    want("e");
    const worker = only("e");
    sync([worker]);
    const before = store.workersOf("e");
    sync([worker], liar);
    sync([{ ...worker, workerId: "invented" }], liar);
    expect(store.workersOf("e")).toEqual(before);
    letGo(worker.workerId); // and nobody else frees the capacity of one that leaves
    sync([], liar);
    expect(store.workersOf("e")).toMatchObject([{ hostId: "h", state: "stopping" }]);
  });
});

test("a newer version is placed after endpoints without workers, where its evicted worker was", async ({
  expect,
}) => {
  await inFleet((state) => {
    const { store, placer, plan, sync, want, letGo, only, versions } = openFleet(state);
    sync([]);
    want("e");
    const { workerId } = only("e");
    sync([only("e")]);

    store.saveDesiredWorkers({ desired: 1, config: { ...config, version: 2 } });
    placer.review("e");
    want("f");
    expect([versions("e"), versions("f")]).toEqual([[1], [1]]);
    expect(placer.placementStatus("e")).toMatchObject({
      missing: 0,
      shortage: null,
      rollShortage: { roomBy: [[workerId]] },
    });

    want("d");
    letGo(workerId);
    placer.review("e");
    plan();
    sync(store.workersOf("f"), { appliedRevision: store.hosts.get("h")?.revision ?? 0 });
    expect([versions("e"), versions("f"), versions("d")]).toEqual([[2], [1], []]);
  });
});

test("standby workers outlive the memory of Fleet, and run again with another revival", async ({
  expect,
}) => {
  await inFleet((state) => {
    const before = openFleet(state, 1);
    const flashBoot = { flashBootType: "FLASHBOOT" } as const;
    before.sync([]);
    before.want("e", flashBoot);
    const placed = before.only("e");
    before.store.saveWorker({ ...placed, state: "ready" });
    before.store.saveDesiredWorkers({ desired: 0, config: { ...config, ...flashBoot } });
    before.letGo(placed.workerId, 1);
    expect(before.store.workersOf("e")).toMatchObject([{ standbyAt: 1, retiredIn: null, revivals: 0 }]);

    const { store, pools, placer, plan, letGo } = openFleet(state, 1);
    store.load();
    pools.admit("h");
    store.saveDesiredWorkers({ desired: 1, config: { ...config, ...flashBoot } });
    placer.reviewAll();
    plan(2);
    expect(store.workersOf("e")).toMatchObject([
      { workerId: placed.workerId, standbyAt: null, state: "starting", revivals: 1 },
    ]);
    letGo(placed.workerId, 3); // said before it was revived
    expect(store.workersOf("e")).toMatchObject([{ standbyAt: null, retiredIn: null }]);
    store.saveWorker({ ...placed, standbyAt: null, revivals: 1, state: "ready" });
    letGo(`${placed.workerId}/1`, 3);
    expect(store.workersOf("e")).toMatchObject([{ standbyAt: 3, retiredIn: null }]);
  });
});

test("an endpoint that has lacked a worker for longer is served first, though its failure was found again", async ({
  expect,
}) => {
  await inFleet((state) => {
    const { store, placer, plan, sync, want } = openFleet(state, 1);
    want("e");
    store.saveDesiredWorkers({ desired: 1, config: { ...config, endpointId: "f" } });
    placer.review("f");
    plan(1);
    placer.review("e");
    plan(10_000);
    sync([]);
    expect([store.workersOf("e"), store.workersOf("f")]).toMatchObject([[{ hostId: "h" }], []]);
  });
});

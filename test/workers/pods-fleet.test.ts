/** Pods in the Fleet object: their places, their lives, and what becomes of them when hosts come and go. */
import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { HOST_GRACE_MS } from "../../src/fleet/hosts/host-presence.ts";
import { passTime } from "./object.ts";
import { ACCOUNT, CARD, inventoryOf, podConfig, PodFleet } from "./pod-hosts.ts";
import { test as fleetTest } from "./support/fleet-harness.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const STOP = { kind: "stop" } as const;
const start = (podId: string, settings = {}) =>
  ({ kind: "start", config: podConfig(podId, settings) }) as const;

describe("a pod", () => {
  test("runs, stops, starts in another version, and is gone when it is terminated", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h");
    const created = await fleet.create("p");
    expect(created).toMatchObject({
      kind: "done",
      pod: { version: 1, desired: "running", waiting: null, host: { hostId: "h", isPresent: true } },
    });
    expect(await fleet.object.snapshot(ACCOUNT)).toMatchObject({
      pods: { running: 1, waiting: 0, stopped: 0 },
      hosts: [{ workers: 1, gpus: { total: 2, taken: 1 } }],
      endpoints: [],
    });
    expect(created.kind === "done" && created.pod.worker).toMatchObject({
      gpuModels: [CARD],
      state: "starting",
    });

    host.ports.set("p", [{ requested: 22, private: 22, public: 40_022 }]);
    await host.sync();
    expect(host.containers.get("p")).toEqual({ version: 1, gpuIndexes: [0] });
    expect(await fleet.view("p")).toMatchObject({
      worker: { state: "ready" },
      ports: [{ requested: 22, private: 22, public: 40_022 }],
      cpuPercent: 50,
      memoryPercent: null,
    });

    expect(await fleet.change("p", STOP)).toMatchObject({
      pod: { desired: "stopped", stopReason: "stopped", ports: [], worker: { state: "stopping" } },
    });
    await host.sync();
    expect(host.containers.size).toBe(0);
    expect(await fleet.view("p")).toMatchObject({ worker: null, host: null });

    expect(await fleet.change("p", start("p"))).toMatchObject({ pod: { version: 2, stopReason: null } });
    await host.sync();
    expect(host.containers.get("p")).toMatchObject({ version: 2 });
    await fleet.change("p", { kind: "terminate" });
    expect(await fleet.view("p")).toBeUndefined();
    await host.sync();
    expect(host.containers.size).toBe(0);
    expect(await fleet.object.podIds("", 10)).toEqual([]);
  });

  test("of another account is not found", async ({ expect }) => {
    const fleet = new PodFleet();
    await fleet.host("h");
    await fleet.create("p");
    const call = { podId: "p", accountId: "other", change: STOP };
    expect(await fleet.object.changePod(call)).toEqual({ kind: "not_found" });
    expect(await fleet.object.podsOf("other", ["p"])).toEqual([]);
  });

  test("for which there is no capacity is not kept, and the reason is said", async ({ expect }) => {
    const fleet = new PodFleet();
    await fleet.host("h", inventoryOf(1));
    await fleet.create("p");
    for (const [settings, detail] of [
      [{}, /only GPU is taken/],
      [{ gpuModels: ["NVIDIA L4"] }, /NVIDIA L4.*can give NVIDIA GeForce RTX 4090/],
      [{ gpuModels: [], minMemoryMb: 100_000 }, /64 GB of memory/],
      [{ gpuModels: [], needsPublicAddress: true }, /public address/],
    ] as const) {
      expect(await fleet.create("q", settings)).toMatchObject({
        kind: "no_capacity",
        failure: { detail: expect.stringMatching(detail) },
      });
    }
    expect(await fleet.view("q")).toBeUndefined();
  });

  test("gets none of a host whose agent runs no pods", async ({ expect }) => {
    const fleet = new PodFleet();
    await fleet.host("h", inventoryOf(1, { canRunPods: false }));
    expect(await fleet.create("p")).toMatchObject({
      kind: "no_capacity",
      failure: { detail: expect.stringMatching(/no pods/) },
    });
  });

  test("takes the first of its models that there is", async ({ expect }) => {
    const fleet = new PodFleet();
    const l4 = { name: "NVIDIA L4", tier: "AMPERE_24", memoryMb: 24_000, isSimulated: false, index: 0 };
    await fleet.host("l4", inventoryOf(0, { gpus: [l4] }));
    const models = { gpuModels: [CARD, "NVIDIA L4"] };
    expect(await fleet.create("p", models)).toMatchObject({ pod: { worker: { gpuModels: ["NVIDIA L4"] } } });
    await fleet.host("h");
    expect(await fleet.create("q", models)).toMatchObject({ pod: { worker: { gpuModels: [CARD] } } });
  });

  test("that is started while its container still stops keeps its place", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(1));
    await fleet.create("p");
    await host.sync();
    host.holdsStops = true;
    await fleet.change("p", STOP);
    await host.sync();
    expect(await fleet.create("q")).toMatchObject({ kind: "no_capacity" });
    expect(await fleet.change("p", start("p"))).toMatchObject({
      pod: { version: 2, desired: "running", waiting: null },
    });
    await host.sync();
    // The host still reports the container of the older version.
    expect(await fleet.view("p")).toMatchObject({ version: 2, worker: { state: "starting" } });
    host.holdsStops = false;
    await host.sync();
    expect(await fleet.view("p")).toMatchObject({ worker: { state: "ready", version: 2 } });
  });

  test("is stopped and terminated when its time has come, once", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h");
    const now = Date.now();
    const times = { stopAt: now + 10_000, terminateAt: now + 60_000 };
    await fleet.create("p", times);
    await host.sync();
    passTime(10_000);
    await host.sync();
    await fleet.fireAlarm();
    expect(await fleet.view("p")).toMatchObject({ desired: "stopped", stopReason: "stop_time" });
    await host.sync();
    await fleet.change("p", start("p", times));
    await fleet.fireAlarm();
    expect(await fleet.view("p")).toMatchObject({ desired: "running" });
    passTime(50_000);
    await host.sync();
    await fleet.fireAlarm();
    expect(await fleet.view("p")).toBeUndefined();
    expect(await fleet.alarm()).not.toBe(now + 60_000);
  });
});

test("a pod counts in the usage of its account under its id and name", async ({ expect }) => {
  const fleet = new PodFleet();
  const host = await fleet.host("h");
  const since = Date.now() - (Date.now() % 3_600_000);
  await fleet.create("p", { name: "notebook", gpuCount: 2 });
  await host.sync();
  passTime(1_000);
  const hours = await fleet.object.usage({ since, until: since + 3_600_000, storedUntil: since });
  expect(hours).toMatchObject([
    { endpointId: "p", accountId: ACCOUNT, name: "notebook", gpus: [{ model: CARD }] },
  ]);
});

test("a pod that is restarted has a new container, and its usage goes on", async ({ expect }) => {
  const fleet = new PodFleet();
  const since = Math.ceil(Date.now() / 3_600_000) * 3_600_000;
  vi.setSystemTime(since);
  const host = await fleet.host("h");
  await fleet.create("p");
  await host.sync();
  passTime(1_000);
  await fleet.change("p", { kind: "restart", config: podConfig("p", { version: 2 }) });
  const view = await fleet.view("p");
  expect(view).toMatchObject({ changedAt: since, worker: { state: "starting", createdAt: since + 1_000 } });
  expect(view?.worker).toMatchObject({ start: null, imageDigest: null });
  await host.sync();
  passTime(2_000);
  const hours = await fleet.object.usage({ since, until: since + 3_600_000, storedUntil: since });
  expect(hours.map(({ workerMs }) => workerMs)).toEqual([3_000]);
});

test("a pod on a host that is away uses nothing", async ({ expect }) => {
  const fleet = new PodFleet();
  const since = Math.ceil(Date.now() / 3_600_000) * 3_600_000;
  vi.setSystemTime(since);
  const host = await fleet.host("h");
  await fleet.create("p");
  const used = async () => {
    const hours = await fleet.object.usage({ since, until: since + 3_600_000, storedUntil: since });
    return hours.map(({ workerMs }) => workerMs);
  };
  await host.sync();
  passTime(1_000);
  await host.sync();
  passTime(600_000);
  await fleet.fireAlarm();
  expect(await used()).toEqual([1_000]);
  await host.sync();
  passTime(2_000);
  expect(await used()).toEqual([3_000]);
});

test("a pod whose container never came up uses nothing", async ({ expect }) => {
  const fleet = new PodFleet();
  const since = Math.ceil(Date.now() / 3_600_000) * 3_600_000;
  vi.setSystemTime(since);
  const host = await fleet.host("h");
  host.startsContainers = false;
  await fleet.create("p");
  await host.sync();
  passTime(1_000);
  const used = () => fleet.object.usage({ since, until: since + 3_600_000, storedUntil: since });
  expect(await used()).toEqual([]);
  await fleet.change("p", { kind: "terminate" });
  await host.sync();
  expect(await used()).toEqual([]);
});

describe("an edit", () => {
  test("of another size is placed on the same host, or changes nothing", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(3));
    await fleet.create("p", { volumeInGb: 20 });
    await fleet.create("q");
    await host.sync();
    const edit = (settings: object) =>
      fleet.change("p", { kind: "edit", config: podConfig("p", { volumeInGb: 20, ...settings }) });
    expect(await edit({ version: 2, gpuCount: 3 })).toMatchObject({
      kind: "volume_elsewhere",
      host: { hostId: "h" },
    });
    expect(await fleet.view("p")).toMatchObject({ version: 1 });
    expect(await edit({ version: 2, gpuCount: 2 })).toMatchObject({ kind: "done", pod: { version: 2 } });
    await host.sync();
    expect(host.containers.get("p")).toEqual({ version: 2, gpuIndexes: [0, 2] });
  });

  test("that gives GPUs up keeps them until the new version runs", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(2));
    await fleet.create("p", { gpuCount: 2 });
    await host.sync();
    host.holdsStops = true;
    await fleet.change("p", { kind: "edit", config: podConfig("p", { version: 2 }) });
    await host.sync();
    expect(await fleet.create("q")).toMatchObject({ kind: "no_capacity" });
    host.holdsStops = false;
    await host.sync();
    expect(await fleet.create("q")).toMatchObject({ kind: "done" });
  });

  test("of what it needs leaves its container alone where it has that, and else moves it", async ({
    expect,
  }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(2));
    await fleet.create("p", { gpuCount: 2 });
    await host.sync();
    const edit = (settings: object) =>
      fleet.change("p", { kind: "edit", config: podConfig("p", { gpuCount: 2, ...settings }) });
    expect(await edit({ minMemoryMb: 60_000 })).toMatchObject({ kind: "done", pod: { version: 1 } });
    expect(await edit({ minMemoryMb: 100_000 })).toMatchObject({ kind: "no_capacity" });
    expect(await fleet.view("p")).toMatchObject({ version: 1, config: { minMemoryMb: 60_000 } });
    const large = await fleet.host("large", inventoryOf(2, { memoryMb: 128_000 }));
    host.holdsStops = true;
    for (let time = 0; time < 2; time += 1) {
      expect(await edit({ minMemoryMb: 100_000 })).toMatchObject({
        kind: "done",
        pod: { version: 2, desired: "running", worker: { hostId: "h", state: "stopping" } },
      });
    }
    await large.sync();
    expect(large.containers.size).toBe(0);
    expect(await fleet.create("q", { minMemoryMb: 100_000 })).toMatchObject({ kind: "no_capacity" });
    host.holdsStops = false;
    await host.sync();
    await large.sync();
    expect([[...host.containers.keys()], large.containers.get("p")]).toEqual([
      [],
      { version: 2, gpuIndexes: [0, 1] },
    ]);
  });

  test("of a stopped one counts when it starts, also in the place of its last container", async ({
    expect,
  }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(2));
    await fleet.create("p");
    await host.sync();
    host.holdsStops = true;
    await fleet.change("p", STOP);
    const config = podConfig("p", { minMemoryMb: 50_000 });
    await fleet.change("p", { kind: "edit", config });
    expect(await fleet.change("p", { kind: "start", config })).toMatchObject({
      pod: { worker: { hostId: "h", limits: { memoryMb: 50_000 } } },
    });
  });

  test("of its name leaves its container alone", async ({ expect }) => {
    const fleet = new PodFleet();
    await fleet.host("h");
    await fleet.create("p");
    const config = podConfig("p", { name: "renamed" });
    expect(await fleet.change("p", { kind: "edit", config })).toMatchObject({ pod: { version: 1 } });
    const restart = { kind: "restart", config: { ...config, version: 2 } } as const;
    expect(await fleet.change("p", restart)).toMatchObject({ pod: { version: 2 } });
  });
});

describe("a volume", () => {
  test("stays on its host, keeps its disk, and binds its pod to that host", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(1));
    await fleet.create("p", { volumeInGb: 150 });
    await host.sync();
    await fleet.change("p", STOP);
    await host.sync();
    expect(host.podVolumes).toEqual(["p"]);
    expect(await fleet.view("p")).toMatchObject({ worker: null, host: { hostId: "h" } });
    expect(await fleet.create("big", { volumeInGb: 50 })).toMatchObject({
      kind: "no_capacity",
      failure: { detail: expect.stringMatching(/disk/) },
    });
    await fleet.create("q");
    await fleet.host("other");
    expect(await fleet.change("p", start("p", { volumeInGb: 150 }))).toMatchObject({
      kind: "volume_elsewhere",
      host: { hostId: "h" },
      failure: { detail: expect.stringMatching(/taken/) },
    });
    expect(await fleet.view("p")).toMatchObject({ desired: "stopped" });
    await fleet.change("q", { kind: "terminate" });
    await host.sync();
    expect(await fleet.change("p", start("p", { volumeInGb: 150 }))).toMatchObject({
      pod: { worker: { hostId: "h" } },
    });
    await fleet.change("p", { kind: "terminate" });
    await host.sync();
    expect(host.podVolumes).toEqual([]);
  });
});

describe("interruptible pods give way", () => {
  const bidding = (bidPerGpu: number) => ({ isInterruptible: true, bidPerGpu });

  test("to a reserved one, the lowest bid first and then the youngest, no more than needed", async ({
    expect,
  }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(3));
    for (const [podId, bid] of [
      ["dear", 0.3],
      ["old", 0.2],
      ["young", 0.2],
    ] as const) {
      await fleet.create(podId, bidding(bid));
      passTime(1_000);
    }
    await host.sync();
    host.holdsStops = true;
    const before = await fleet.create("p");
    expect(before).toMatchObject({
      kind: "done",
      pod: { worker: null, waiting: { detail: expect.stringMatching(/host h/) } },
    });
    await host.sync();
    await host.sync();
    const states = async () =>
      Promise.all(["dear", "old", "young"].map(async (podId) => (await fleet.view(podId))?.stopReason));
    expect(await states()).toEqual([null, null, "preempted"]);
    // Nobody else gets what it waits for, not even the pod that gave way.
    expect(await fleet.create("other", bidding(9))).toMatchObject({ kind: "no_capacity" });
    expect(await fleet.change("young", start("young", bidding(9)))).toMatchObject({ kind: "no_capacity" });
    host.holdsStops = false;
    await host.sync();
    expect(await fleet.view("p")).toMatchObject({ waiting: null, worker: { hostId: "h" } });
    expect(await states()).toEqual([null, null, "preempted"]);
  });

  test("never to each other", async ({ expect }) => {
    const fleet = new PodFleet();
    await fleet.host("h", inventoryOf(1));
    await fleet.create("p", bidding(0.1));
    expect(await fleet.create("q", bidding(0.9))).toMatchObject({ kind: "no_capacity" });
  });

  test("once, although Fleet forgets what it promised", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(2));
    await fleet.create("a", bidding(0.1));
    await fleet.create("b", bidding(0.2));
    await host.sync();
    host.holdsStops = true;
    await fleet.create("p");
    await host.sync();
    await evictDurableObject(fleet.object);
    await host.sync();
    expect(await fleet.view("a")).toMatchObject({ stopReason: "preempted" });
    expect(await fleet.view("b")).toMatchObject({ desired: "running" });
    host.holdsStops = false;
    await host.sync();
    expect(await fleet.whereabouts("p")).toMatch(/^h /);
    expect(await fleet.view("b")).toMatchObject({ desired: "running" });
  });
});

fleetTest("they give way to workers of endpoints", async ({ expect, fleet }) => {
  const { myself } = await fleet.api.graphql<{ myself: { id: string } }>("{ myself { id } }");
  const accountId = myself.id;
  const host = await fleet.host({ gpus: ["AMPERE_16", "AMPERE_16"] });
  host.inventory = { ...host.inventory, canRunPods: true };
  await host.sync();
  const ids = ["cheap", "reserved"].map((name) => `${name}${accountId}`);
  for (const [index, podId] of ids.entries()) {
    const bidding = { isInterruptible: index === 0, bidPerGpu: 0.1 };
    await fleet.object.createPod(
      podConfig(podId, { accountId, gpuModels: ["NVIDIA RTX A4000"], ...bidding }),
    );
  }
  const endpoint = await fleet.endpoint("workersMin: 1");
  await host.untilReady(endpoint, 1);
  expect(await fleet.object.podsOf(accountId, ids)).toMatchObject([
    { desired: "stopped", stopReason: "preempted" },
    { desired: "running", worker: { hostId: host.agent.hostId } },
  ]);
});

describe("a host that is lost", () => {
  test("keeps its pods, gives their capacity to nobody and makes no alarm ring", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(1));
    await fleet.create("p");
    await host.sync();
    const seenAt = Date.now();
    passTime(HOST_GRACE_MS + 1);
    await fleet.fireAlarm();
    for (const _ of [1, 2]) {
      expect(await fleet.view("p")).toMatchObject({
        desired: "running",
        worker: { state: "ready" },
        host: { hostId: "h", isPresent: false, lastSeenAt: seenAt },
      });
      expect(await fleet.alarm()).toBeNull();
      await evictDurableObject(fleet.object);
    }
    await host.sync();
    expect(await fleet.view("p")).toMatchObject({ version: 1, host: { isPresent: true } });
    expect(host.containers.get("p")).toEqual({ version: 1, gpuIndexes: [0] });
    expect(await fleet.create("q")).toMatchObject({ kind: "no_capacity" });
  });

  test("loses a pod without a volume that is stopped and started again", async ({ expect }) => {
    const fleet = new PodFleet();
    const host = await fleet.host("h", inventoryOf(2));
    await fleet.create("p");
    await fleet.create("v", { volumeInGb: 1 });
    await host.sync();
    passTime(HOST_GRACE_MS + 1);
    const other = await fleet.host("other");
    for (const podId of ["p", "v"]) await fleet.change(podId, STOP);
    expect(await fleet.change("p", start("p"))).toMatchObject({ pod: { worker: { hostId: "other" } } });
    expect(await fleet.change("v", start("v", { volumeInGb: 1 }))).toMatchObject({
      kind: "volume_elsewhere",
      host: { hostId: "h", isPresent: false },
    });
    await other.sync();
    await host.sync();
    expect([...host.containers.keys()]).toEqual([]);
    expect(host.podVolumes).toEqual(["v"]);
    expect([...other.containers.keys()]).toEqual(["p"]);
  });
});

test("a removed host takes volumes with it; pods without one run elsewhere", async ({ expect }) => {
  const fleet = new PodFleet();
  await fleet.host("h", inventoryOf(3));
  await fleet.create("p");
  await fleet.create("v", { volumeInGb: 1 });
  await fleet.create("s", { volumeInGb: 1 });
  await fleet.change("s", STOP);
  await fleet.object.removeHost({ id: "h", accountId: "account", name: "h" });
  expect(await fleet.view("p")).toMatchObject({
    desired: "running",
    worker: null,
    host: null,
    waiting: { reason: "no_host" },
  });
  for (const podId of ["v", "s"])
    expect(await fleet.view(podId)).toMatchObject({ stopReason: "host_removed", host: null });
  await fleet.host("other");
  expect(await fleet.whereabouts("p")).toMatch(/^other /);
});

test("a drained host loses pods that have a place elsewhere and no volume on it", async ({ expect }) => {
  const fleet = new PodFleet();
  const host = await fleet.host("h", inventoryOf(3));
  for (const [podId, volumeInGb] of [
    ["p", 0],
    ["q", 0],
    ["v", 1],
  ] as const)
    await fleet.create(podId, { volumeInGb });
  await host.sync();
  await fleet.object.changeHost({ hostId: "h", accountId: "account", name: "h", drained: true });
  await host.sync();
  expect([...host.containers.keys()]).toEqual(["p", "q", "v"]);
  const other = await fleet.host("other", inventoryOf(1));
  await host.sync();
  await other.sync();
  expect([[...host.containers.keys()], [...other.containers.keys()]]).toEqual([["q", "v"], ["p"]]);
  expect(await fleet.view("v")).toMatchObject({ desired: "running", host: { isDrained: true } });
});

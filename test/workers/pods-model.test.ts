/**
 * A burst of pods and workers on hosts that come, go and take their time, with everything checked on every step:
 *
 * M1  No GPU is given twice, neither in rows nor on the hosts, and no host has more than its capacity.
 * M2  Interruptible pods give way in their order, and never more of them than needed.
 * M3  Whatever fits somewhere does not wait; each waiting pod says why.
 * M4  When all is terminated, nothing is left.
 * M5  Each pod that has a container has what it needs.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { test, type ExpectStatic } from "vitest";
import type { Inventory } from "../../src/contract/agent/agent.ts";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import type { PodConfig } from "../../src/contract/pod.ts";
import { ObjectDatabase } from "../../src/durable/sql.ts";
import { fleetParts, type FleetParts } from "../../src/fleet/composition.ts";
import type { Allocation } from "../../src/domain/placement/host-capacity.ts";
import { allocationsOf } from "../../src/fleet/fleet-store.ts";
import { HostRegistry } from "../../src/fleet/hosts/host-registry.ts";
import { HOST_GRACE_MS } from "../../src/fleet/hosts/host-presence.ts";
import type { PromisedPlace } from "../../src/fleet/pods/promised-places.ts";
import { ACCOUNT, inventoryOf, podConfig } from "./pod-hosts.ts";

const HOLD_MS = 1_000_000_000;
const CARDS = [
  ["NVIDIA GeForce RTX 4090", "ADA_24"],
  ["NVIDIA L4", "AMPERE_24"],
  ["NVIDIA A40", "AMPERE_48"],
] as const;
const PODS = 200;
const ENDPOINTS = 5;
const WORKERS_PER_ENDPOINT = 100;

type Container = { readonly version: number; readonly gpuIndexes: readonly number[] };
type ModelHost = {
  readonly hostId: string;
  readonly inventory: Inventory;
  /** What runs, whether it shall or not. */
  readonly containers: Map<string, Container>;
  revision: number;
  isAway: boolean;
};

/** Numbers that look random, and are the same for the same seed. */
function numbersFrom(seed: number) {
  let state = seed;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const chance = (percent: number) => below(100) < percent;
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[below(items.length)];
  return { below, chance, pick };
}

class Model {
  readonly #database: ObjectDatabase;
  readonly #random: ReturnType<typeof numbersFrom>;
  readonly #expect: ExpectStatic;
  readonly #hosts: ModelHost[];
  readonly #configs = new Map<string, PodConfig>();
  #parts: FleetParts;
  #registry: HostRegistry;
  #now = 1_000_000;
  #count = 0;
  preemptions = 0;
  waits = 0;

  constructor(storage: DurableObjectStorage, seed: number, expect: ExpectStatic) {
    this.#database = new ObjectDatabase(storage.sql);
    this.#random = numbersFrom(seed);
    this.#expect = expect;
    this.#parts = fleetParts(this.#database);
    this.#registry = new HostRegistry(this.#parts);
    this.#hosts = Array.from({ length: 16 }, (_, index) => ({
      hostId: `h${index}`,
      inventory: this.#inventory(index),
      containers: new Map(),
      revision: 0,
      isAway: false,
    }));
  }

  run(steps: number): void {
    for (const host of this.#hosts) this.#sync(host);
    for (let index = 0; index < PODS / 2; index += 1) this.#step(() => this.#create());
    for (let index = 0; index < ENDPOINTS; index += 1)
      this.#step(() => this.#want(index, WORKERS_PER_ENDPOINT));
    for (let index = 0; index < PODS / 2; index += 1) this.#step(() => this.#create());
    for (let index = 0; index < ENDPOINTS; index += 1) this.#step(() => this.#want(index, 5));
    for (let index = 0; index < steps; index += 1) this.#step(() => this.#act());
    this.#end();
  }

  /** Simulated hosts have any size; the others have that of their GPUs. */
  #inventory(index: number): Inventory {
    const [name, tier] = CARDS[index % CARDS.length] ?? CARDS[0];
    const isSimulated = index >= 4;
    const gpus = Array.from({ length: 8 }, (_, at) => ({
      index: at,
      name: isSimulated ? `Simulated ${tier}` : name,
      tier,
      memoryMb: 24_000,
      isSimulated,
    }));
    return inventoryOf(8, { gpus, cpuCount: 64, memoryMb: 256_000, diskFreeMb: 600_000 });
  }

  #step(act: () => void): void {
    const { podStore, promised } = this.#parts;
    const running = new Set([...podStore.all()].filter(({ desired }) => desired === "running"));
    const before = new Set(this.#promises());
    this.#now += 500;
    act();
    this.#plan();
    const isSameLife = promised === this.#parts.promised;
    const made = isSameLife ? this.#promises().filter((place) => !before.has(place)) : [];
    const preempted = [...this.#parts.podStore.all()].filter(
      ({ stopReason, config }) =>
        stopReason === "preempted" && [...running].some((pod) => pod.config.podId === config.podId),
    );
    this.preemptions += preempted.length;
    this.#checkHosts();
    this.#checkNeeds();
    this.#checkPreemption(preempted, made);
    this.#checkWaiting();
  }

  #act(): void {
    const { chance, pick, below } = this.#random;
    const host = pick(this.#hosts);
    if (!host) return;
    if (chance(55)) return this.#sync(host);
    if (chance(30)) return this.#create();
    if (chance(55)) return this.#changePod();
    if (chance(40)) return this.#want(below(ENDPOINTS), chance(15) ? WORKERS_PER_ENDPOINT : below(20));
    if (chance(40)) return this.#lose(host);
    if (chance(60)) {
      const [cordoned, drained] = [chance(15), chance(25)];
      return this.#registry.change(
        {
          hostId: host.hostId,
          accountId: ACCOUNT,
          name: host.hostId,
          cordoned,
          drained,
        },
        this.#now,
      );
    }
    return this.#forget();
  }

  #create(): void {
    const { below, chance, pick } = this.#random;
    const isInterruptible = chance(50);
    this.#count += 1;
    const config = podConfig(`p${this.#count}`, {
      gpuModels: chance(10)
        ? []
        : [...new Set([pick(CARDS)?.[0] ?? "", ...(chance(30) ? [pick(CARDS)?.[0] ?? ""] : [])])],
      instanceIds: ["cpu3c-2-4"],
      gpuCount: chance(70) ? 1 : 1 + below(4),
      volumeInGb: chance(30) ? 1 + below(100) : 0,
      minMemoryMb: chance(20) ? below(300_000) : 0,
      isInterruptible,
      bidPerGpu: isInterruptible ? 1 + below(4) : 0,
    });
    const outcome = this.#parts.pods.create(config, this.#now);
    if (outcome.kind === "done") this.#configs.set(config.podId, config);
    else this.#expect(outcome).toMatchObject({ kind: "no_capacity", failure: { detail: /./ } });
  }

  #changePod(): void {
    const { pick, below, chance } = this.#random;
    const podId = pick([...this.#configs.keys()]);
    const config = podId === undefined ? undefined : this.#configs.get(podId);
    if (!config) return;
    const edited = {
      ...config,
      version: config.version + 1,
      gpuCount: 1 + below(3),
      volumeInGb: below(2) * 30,
    };
    const other = {
      ...config,
      ...(config.gpuModels.length > 0 && { gpuModels: [pick(CARDS)?.[0] ?? ""], gpuCount: 1 + below(3) }),
      minMemoryMb: chance(50) ? below(300_000) : 0,
    };
    const change = pick([
      { kind: "stop" } as const,
      { kind: "stop" } as const,
      { kind: "start", config } as const,
      { kind: "start", config } as const,
      { kind: "restart", config: { ...config, version: config.version + 1 } } as const,
      { kind: "edit", config: edited } as const,
      { kind: "edit", config: other } as const,
      { kind: "terminate" } as const,
    ]);
    if (!change) return;
    const before = JSON.stringify(this.#parts.podStore.get(config.podId));
    const outcome = this.#parts.pods.change({ podId: config.podId, accountId: ACCOUNT, change }, this.#now);
    if (outcome.kind !== "done") {
      this.#expect(JSON.stringify(this.#parts.podStore.get(config.podId))).toBe(before);
      return;
    }
    if (change.kind === "terminate") this.#configs.delete(config.podId);
    if ("config" in change) this.#configs.set(config.podId, change.config);
  }

  #want(index: number, desired: number): void {
    const { store, placer } = this.#parts;
    const endpointId = `e${index}`;
    const current = store.workersOf(endpointId).filter(({ retiredIn }) => retiredIn === null);
    const config: EndpointConfig = {
      endpointId,
      accountId: ACCOUNT,
      name: endpointId,
      type: "QB",
      version: 1,
      workersMin: 0,
      workersMax: WORKERS_PER_ENDPOINT,
      idleTimeoutSeconds: 5,
      scalerType: "QUEUE_DELAY",
      scalerValue: 4,
      executionTimeoutMs: 60_000,
      gpuTiers: [CARDS[index % CARDS.length]?.[1] ?? ""],
      excludedGpuModels: [],
      gpuCount: index === 4 ? 2 : 1,
      locations: [],
      containerDiskInGb: 5,
    };
    store.saveDesiredWorkers({ desired, config });
    placer.scaleDown(
      endpointId,
      current.slice(desired).map(({ workerId }) => workerId),
      this.#now,
    );
    placer.review(endpointId);
  }

  /** The agent hears, follows as fast as it likes, and reports with its next sync. */
  #sync(host: ModelHost): void {
    const { store } = this.#parts;
    const { hostId, containers } = host;
    const workers = [...containers].map(([workerId, { version: revision }]) => {
      const endpointId = store.workers.get(workerId)?.endpointId ?? workerId;
      return { workerId, endpointId, revision, state: "ready" as const, start: null };
    });
    const call = { hostId, accountId: ACCOUNT, name: hostId, agentVersion: "test", presence: "here" };
    const state = { inventory: host.inventory, workers, appliedRevision: host.revision, holdMs: HOLD_MS };
    this.#registry.applySync({ ...call, ...state }, this.#now);
    this.#plan();
    host.revision = store.hosts.get(hostId)?.revision ?? 0;
    const isReturning = host.isAway;
    host.isAway = false;
    const assigned = new Map(
      store
        .workersOn(hostId)
        .flatMap((row) => (row.retiredIn === null ? [[row.workerId, row] as const] : [])),
    );
    for (const [workerId, { version }] of containers) {
      const isAssigned = assigned.get(workerId)?.version === version;
      if (!isAssigned && (isReturning || this.#random.chance(50))) containers.delete(workerId);
    }
    for (const { workerId, version, gpuIndexes } of assigned.values()) {
      if (containers.has(workerId)) continue;
      const held = [...containers].flatMap(([other, container]) =>
        container.gpuIndexes.some((index) => gpuIndexes.includes(index)) ? [other] : [],
      );
      this.#expect(held, `${workerId} finds its GPUs on ${hostId} free`).toEqual([]);
      containers.set(workerId, { version, gpuIndexes });
    }
  }

  #lose(host: ModelHost): void {
    host.isAway = true;
    const at = this.#now - 1;
    this.#parts.presence.silent(host.hostId, "here", at);
    this.#now += HOST_GRACE_MS;
    this.#registry.removeLost(this.#now);
  }

  /** Fleet loses what it has in memory. */
  #forget(): void {
    this.#parts = fleetParts(this.#database);
    this.#registry = new HostRegistry(this.#parts);
    this.#parts.store.load();
    this.#parts.podStore.load();
    const present = new Set(this.#hosts.filter(({ isAway }) => !isAway).map(({ hostId }) => hostId));
    const heard = { at: this.#now, holdMs: HOLD_MS, presence: "here" };
    this.#registry.recover(this.#now, (hostId) => (present.has(hostId) ? heard : undefined));
    this.#parts.placer.reviewAll();
    this.#parts.podPlacer.reviewAll();
  }

  #plan(): void {
    this.#registry.expelSilent(this.#now);
    for (let turn = 0; turn < 3; turn += 1) {
      this.#parts.placer.plan(this.#now, (hostId) => this.#parts.presence.isPresent(hostId, this.#now));
    }
  }

  #promises(): readonly PromisedPlace[] {
    const { promised } = this.#parts;
    return promised.hostIds().flatMap((hostId) => promised.on(hostId));
  }

  #checkHosts(): void {
    const { store, podStore, pools } = this.#parts;
    for (const { hostId, inventory } of this.#hosts) {
      const workers = store.workersOn(hostId);
      const taken = allocationsOf(workers).flatMap(({ gpuIndexes }) => gpuIndexes);
      this.#expect(new Set(taken).size, `no GPU of ${hostId} is given twice`).toBe(taken.length);
      if (inventory.gpus.some(({ isSimulated }) => isSimulated)) continue;
      const sum = (of: (taken: Allocation) => number) =>
        allocationsOf(workers).reduce((total, worker) => total + of(worker), 0);
      const { diskMb } = podStore.volumesOn(hostId);
      this.#expect(sum(({ size }) => size?.cpuMilli ?? 0)).toBeLessThanOrEqual(inventory.cpuCount * 1_000);
      this.#expect(sum(({ size }) => size?.memoryMb ?? 0)).toBeLessThanOrEqual(inventory.memoryMb);
      this.#expect(sum(({ size }) => size?.diskMb ?? 0) + diskMb).toBeLessThanOrEqual(inventory.diskFreeMb);
    }
    for (const place of this.#promises()) {
      const others = this.#promises().filter((other) => other !== place && other.hostId === place.hostId);
      const staying = store.workersOn(place.hostId).filter(({ retiredIn }) => retiredIn === null);
      const taken = [...others, ...staying].flatMap(({ gpuIndexes }) => gpuIndexes);
      this.#expect(place.gpuIndexes.filter((index) => taken.includes(index))).toEqual([]);
      this.#expect(pools.of(ACCOUNT).capacityOf(place.hostId)).toBeDefined();
    }
  }

  #checkNeeds(): void {
    const { podStore, podWorkers } = this.#partsOfPods();
    for (const { config } of podStore.all()) {
      const worker = podWorkers(config.podId);
      if (!worker) continue;
      const { gpuModels, gpuCount, minMemoryMb } = config;
      const tiers = CARDS.flatMap(([name, tier]) => (gpuModels.includes(name) ? [tier] : []));
      this.#expect(worker.gpuIndexes.length).toBe(gpuModels.length > 0 ? gpuCount : 0);
      if (gpuModels.length > 0) this.#expect(tiers).toContain(this.#tierOn(worker.hostId));
      this.#expect(worker.size?.memoryMb).toBeGreaterThanOrEqual(minMemoryMb);
    }
  }

  #checkPreemption(
    preempted: ReturnType<FleetParts["podStore"]["ofAccount"]>,
    made: readonly PromisedPlace[],
  ): void {
    const { podStore, podWorkers, pools } = this.#partsOfPods();
    for (const { config } of preempted) this.#expect(config.isInterruptible).toBe(true);
    const gpus = made.reduce((sum, { gpuIndexes }) => sum + Math.max(1, gpuIndexes.length), 0);
    if (made.length > 0) this.#expect(preempted.length).toBeLessThanOrEqual(gpus);

    // Of one place of one GPU it is plain who could have made it: any pod on an open simulated host with such a card.
    const [place] = made;
    const [pod] = preempted;
    const receiver = place && podStore.get(place.promisedTo);
    const isFree = receiver?.volumeHostId === null && receiver.config.minMemoryMb === 0;
    if (!pod || !place || made.length > 1 || preempted.length > 1 || place.gpuIndexes.length !== 1) return;
    if (receiver && !isFree) return;
    const tier = this.#tierOn(place.hostId);
    const cheaper = [...podStore.all()].filter(({ config }) => {
      const worker = podWorkers(config.podId);
      const host = worker && pools.of(ACCOUNT).capacityOf(worker.hostId);
      if (!host?.isSimulated || host.host.isCordoned || host.host.isDrained) return false;
      const hasCard = (worker?.gpuIndexes.length ?? 0) > 0 && this.#tierOn(host.host.hostId) === tier;
      return config.isInterruptible && hasCard && config.bidPerGpu < pod.config.bidPerGpu;
    });
    this.#expect(cheaper.map(({ config }) => config.podId)).toEqual([]);
  }

  #tierOn(hostId: string): string | null | undefined {
    return this.#hosts.find((host) => host.hostId === hostId)?.inventory.gpus[0]?.tier;
  }

  #partsOfPods() {
    const { podStore, store, pools } = this.#parts;
    const podWorkers = (podId: string) => {
      const worker = store.workers.get(podId);
      return worker?.retiredIn === null ? worker : undefined;
    };
    return { podStore, podWorkers, pools };
  }

  #checkWaiting(): void {
    const { store, podPlacer, promised, placer } = this.#parts;
    const { podStore, podWorkers, pools } = this.#partsOfPods();
    for (const pod of podStore.all()) {
      const { podId } = pod.config;
      const isWaiting = pod.desired === "running" && !podWorkers(podId);
      if (pod.desired === "stopped") this.#expect(podWorkers(podId)).toBeUndefined();
      this.#expect(promised.of(podId).length).toBeLessThanOrEqual(isWaiting ? 1 : 0);
      if (!isWaiting) continue;
      this.waits += 1;
      this.#expect(podPlacer.waitReason(pod)?.detail).toMatch(/./);
      if (!store.workers.has(podId)) {
        const fits = pools.of(ACCOUNT).fits(podPlacer.requirementOf(pod));
        this.#expect(fits, `${podId} waits although it fits`).toBe(false);
      }
    }
    for (const { config } of store.desiredWorkers.values()) {
      const { missing } = placer.placementStatus(config.endpointId);
      this.#expect(promised.of(config.endpointId).length).toBeLessThanOrEqual(missing);
      if (missing > 0) this.#expect(pools.of(ACCOUNT).fits(config)).toBe(false);
    }
  }

  #end(): void {
    for (const host of this.#hosts) {
      this.#registry.change(
        {
          hostId: host.hostId,
          accountId: ACCOUNT,
          name: host.hostId,
          cordoned: false,
          drained: false,
        },
        this.#now,
      );
      this.#sync(host);
    }
    for (let index = 0; index < ENDPOINTS; index += 1) this.#want(index, 0);
    for (const podId of this.#configs.keys())
      this.#parts.pods.change({ podId, accountId: ACCOUNT, change: { kind: "terminate" } }, this.#now);
    for (let turn = 0; turn < 40; turn += 1) for (const host of this.#hosts) this.#sync(host);
    const { store, podStore } = this.#parts;
    this.#expect([...store.workers.keys(), ...podStore.all(), ...this.#promises()]).toEqual([]);
    this.#expect(this.#hosts.flatMap(({ containers }) => [...containers.keys()])).toEqual([]);
    this.#expect(this.#database.all`SELECT worker_id FROM worker UNION ALL SELECT pod_id FROM pod`).toEqual(
      [],
    );
    for (const { host, free, total } of this.#parts.pools.of(ACCOUNT).hosts) {
      this.#expect([host.hostId, free.cpuMilli, free.memoryMb]).toEqual([
        host.hostId,
        total.cpuMilli,
        total.memoryMb,
      ]);
    }
  }
}

test.for([1, 2, 3, 4])(
  "a burst of pods and workers, seed %i",
  { timeout: 120_000 },
  async (seed, { expect }) => {
    await runInDurableObject(env.FLEET.getByName(crypto.randomUUID()), (_, { storage }) => {
      const model = new Model(storage, seed, expect);
      model.run(600);
      expect(model.preemptions).toBeGreaterThan(20);
      expect(model.waits).toBeGreaterThan(20);
    });
  },
);

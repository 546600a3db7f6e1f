/**
 * What planning large fleets costs: `node --expose-gc bench/fleet/simulation.ts [accounts]`.
 *
 * The parts of a Fleet object for each account run in this process, on Node's SQLite, without network, wake-up channels
 * and alarms: together 1,000 hosts with 8 GPUs each, 200 endpoints, 10,000 desired workers on average, and changes of
 * that number.
 */
import type { Inventory } from "../../src/contract/agent/agent.ts";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import { ObjectDatabase } from "../../src/durable/sql.ts";
import { fleetParts } from "../../src/fleet/composition.ts";
import { HostRegistry } from "../../src/fleet/hosts/host-registry.ts";
import { StockReports } from "../../src/fleet/hosts/stock-reports.ts";
import { FLEET_MIGRATIONS } from "../../src/fleet/schema.ts";
import { reportedWorkers } from "../../src/fleet/worker-view.ts";
import { openSql } from "./counted-sql.ts";

const HOSTS = 1_000;
const ENDPOINTS = 200;
const AVERAGE_DESIRED = 50;
const ROUNDS = 5;
const TIERS = ["ADA_24", "AMPERE_48", "AMPERE_80", "ADA_80_PRO"] as const;
const PLACES = ["EU-RO-1", "US-KS-2", "EU-FR-1", "EUR-NO-1"] as const;
const ACCOUNTS = Number(process.argv[2] ?? 1);

let now = 1;
let seed = 7;

function random(below: number): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
  return Math.floor((seed / 0x8000_0000) * below);
}

function pick<Value>(values: readonly Value[]): Value {
  return values[random(values.length)] as Value;
}

function inventoryOf(host: number): Inventory {
  const tier = TIERS[host % TIERS.length] ?? "";
  const gpu = { name: `GPU ${tier}`, tier, memoryMb: 24_000, isSimulated: false };
  const gpus = Array.from({ length: 8 }, (_, index) => ({ ...gpu, index }));
  const size = { cpuCount: 96, memoryMb: 512_000, diskFreeMb: 4_000_000 };
  return { gpus, ...size, runtime: "docker", dataCenterId: PLACES[(host % 7) % PLACES.length] ?? "" };
}

/** Images of ten endpoints, and a model. */
function contentsOf(host: number): readonly string[] {
  const images = Array.from(
    { length: 10 },
    (_, index) => `image:app:${(host * 31 + index * 17) % ENDPOINTS}`,
  );
  return [...images, `model:org/${host % 20}`];
}

function configOf(endpoint: number): EndpointConfig {
  const isCpu = endpoint % 3 === 0;
  return {
    endpointId: `e${endpoint}`,
    accountId: `a${endpoint % ACCOUNTS}`,
    name: `e${endpoint}`,
    type: "QB",
    version: 1,
    workersMin: 0,
    workersMax: 1_000,
    idleTimeoutSeconds: 5,
    scalerType: "QUEUE_DELAY",
    scalerValue: 4,
    executionTimeoutMs: 600_000,
    gpuTiers: isCpu ? [] : [pick(TIERS), pick(TIERS)],
    excludedGpuModels: [],
    gpuCount: isCpu ? 0 : pick([1, 1, 1, 1, 2, 4]),
    locations: random(4) === 0 ? ["US", "RO"] : [],
    instanceIds: isCpu ? ["cpu5c-4-8", "cpu5c-2-4"] : [],
    containerDiskInGb: 50,
    contents: [`image:app:${endpoint}`, `model:org/${endpoint % 20}`],
  };
}

/** What the Fleet object of an account does around its parts. */
class AccountFleet {
  readonly #database = new ObjectDatabase(openSql());
  readonly parts: ReturnType<typeof fleetParts>;
  readonly #register: HostRegistry;
  readonly #stock: StockReports;
  readonly #applied = new Map<string, number>();

  constructor() {
    this.#database.migrate(FLEET_MIGRATIONS);
    this.parts = fleetParts(this.#database);
    this.#register = new HostRegistry(this.parts);
    this.#stock = new StockReports((at) => this.#register.stock(at));
  }

  get written(): number {
    return this.#database.rows.written;
  }

  #turn(work: () => void): void {
    const { parts } = this;
    now += 1;
    work();
    this.#register.expelSilent(now);
    parts.placer.plan(now, (hostId) => parts.presence.isPresent(hostId, now));
    for (const endpointId of parts.placer.takeChangedEndpoints()) parts.store.addUnsent(endpointId);
    parts.revisions.takeChanged();
    for (const endpointId of parts.store.unsent) {
      JSON.stringify([reportedWorkers(parts, endpointId), parts.placer.placementStatus(endpointId)]);
      parts.store.removeUnsent(endpointId);
    }
  }

  sync(host: number): void {
    const { store } = this.parts;
    const hostId = `h${host}`;
    const workers = store
      .workersOn(hostId)
      .filter(({ retiredIn }) => retiredIn === null)
      .map(({ workerId, endpointId }) => {
        return { workerId, endpointId, revision: 1, state: "ready" as const, start: null };
      });
    const appliedRevision = this.#applied.get(hostId) ?? 0;
    const said = { hostId, accountId: `a${host % ACCOUNTS}`, name: hostId, agentVersion: "1" };
    const has = { inventory: inventoryOf(host), contents: contentsOf(host) };
    const call = { ...said, ...has, workers, appliedRevision, holdMs: 50_000 };
    this.#turn(() => this.#register.applySync(call, now));
    this.#stock.next(now, false);
    this.#applied.set(hostId, store.hosts.get(hostId)?.revision ?? 0);
  }

  setDesired(endpoint: number, desired: number): void {
    const { store, placer } = this.parts;
    const known = store.desiredWorkers.get(`e${endpoint}`);
    this.#turn(() => {
      store.saveDesiredWorkers({ desired, config: known?.config ?? configOf(endpoint) });
      store.addUnsent(`e${endpoint}`);
      placer.review(`e${endpoint}`);
    });
  }
}

const fleets = Array.from({ length: ACCOUNTS }, () => new AccountFleet());

function fleetOf(number: number): AccountFleet {
  const fleet = fleets[number % ACCOUNTS];
  if (!fleet) throw new Error("There is no account.");
  return fleet;
}

const sync = (host: number): void => fleetOf(host).sync(host);
const setDesired = (endpoint: number, desired: number): void =>
  fleetOf(endpoint).setDesired(endpoint, desired);
const rowsWritten = (): number => fleets.reduce((sum, fleet) => sum + fleet.written, 0);

// Measuring

function measure(name: string, works: readonly (() => void)[]): void {
  const rows = rowsWritten();
  const times: number[] = [];
  for (const work of works) {
    const { user, system } = process.cpuUsage();
    const at = performance.now();
    work();
    times.push(performance.now() - at);
    const used = process.cpuUsage({ user, system });
    cpuUs += used.user + used.system;
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => ((times[Math.floor((times.length - 1) * share)] ?? 0) * 1_000).toFixed(0);
  const perCall = (value: number) => (value / works.length).toFixed(2);
  console.log(
    `${name}: ${works.length} calls, CPU ${perCall(cpuUs)} µs, p50 ${at(0.5)} µs, p99 ${at(0.99)} µs, ` +
      `max ${at(1)} µs, rows ${perCall(rowsWritten() - rows)}`,
  );
  cpuUs = 0;
}

let cpuUs = 0;
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const all = numbers(HOSTS).map((host) => () => sync(host));
const state = () => {
  const parts = fleets.map((fleet) => fleet.parts);
  const workers = parts.flatMap(({ store }) => [...store.workers.values()]);
  const short = parts.flatMap(({ store, placer }) =>
    [...store.desiredWorkers.keys()].filter((id) => placer.placementStatus(id).missing > 0),
  );
  const active = workers.filter(({ retiredIn }) => retiredIn === null).length;
  globalThis.gc?.();
  const megabytes = (process.memoryUsage().heapUsed / 1e6).toFixed(0);
  console.log(`  ${active} workers, ${short.length} endpoints short, ${megabytes} MB of heap in all`);
};

console.log(`${HOSTS} hosts, ${ENDPOINTS} endpoints, ${ACCOUNTS} account(s), a Fleet object each`);
measure("hosts come, no workers are desired", all);
measure(
  "first desired workers",
  numbers(ENDPOINTS).map((endpoint) => () => setDesired(endpoint, random(2 * AVERAGE_DESIRED + 1))),
);
state();
measure("syncs that report the workers ready", all);
measure(
  "quiet syncs",
  numbers(ROUNDS).flatMap(() => all),
);
for (const [label, average] of [
  ["room for all", AVERAGE_DESIRED],
  ["too few GPUs", 2 * AVERAGE_DESIRED],
] as const) {
  const changes = () => setDesired(random(ENDPOINTS), random(2 * average + 1));
  const mixed = numbers(ROUNDS).flatMap(() =>
    all.flatMap((call, at) => (at % 5 === 0 ? [changes, call] : [call])),
  );
  measure(`syncs with a change of desired workers at every fifth, ${label}`, mixed);
  state();
}

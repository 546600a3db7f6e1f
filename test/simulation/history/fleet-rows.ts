/** What holds of the workers that Fleet knows and the containers of hosts. */
import type { SimulatedHost } from "../host/host.ts";
import type { Network } from "../runtime/network.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { SimulatedObject } from "../runtime/objects.ts";
import type { ObjectStorage } from "../runtime/storage.ts";
import type { World } from "../world/world.ts";
import type { Container } from "../host/containers.ts";
import type { Account } from "./account.ts";
import type { Calm } from "./calm.ts";
import type { Executions } from "./executions.ts";
import { type DesiredRow, Fairness } from "./fairness.ts";
import type { HistoryPlan } from "./plan.ts";
import { startedBeyond } from "./growth.ts";
import { Placements } from "./placements.ts";
import { type PodRow, Preemptions } from "./preemptions.ts";
import type { Fault } from "./planned-faults.ts";

export type FleetRowsParts = {
  readonly world: World;
  readonly network: Network;
  readonly edge: SimulatedEdge;
  readonly plan: HistoryPlan;
  readonly executions: Executions;
  readonly hosts: readonly SimulatedHost[];
  readonly accounts: readonly Account[];
  readonly calm: Calm;
  readonly violate: (what: string) => void;
};

export type WorkerRow = {
  readonly worker_id: string;
  readonly endpoint_id: string;
  readonly host_id: string;
  readonly is_pod: number;
  readonly state: string;
  readonly retired_in: number | null;
  readonly standby_at: number | null;
  readonly revivals: number;
  /** Of a worker that failed on other hosts; null where there was none. */
  readonly moves: string | null;
  readonly version: number;
  /** JSON. */
  readonly gpu_indexes: string;
  /** JSON: what it takes of its host beside GPUs. */
  readonly size: string | null;
  /** JSON: the rest of the place of an earlier version of a pod; null where nothing is left of it. */
  readonly leaving: string | null;
};

type Seen = {
  readonly life: number;
  readonly workers: readonly WorkerRow[];
  readonly desired: readonly DesiredRow[];
  readonly pods: readonly PodRow[];
};

const HIDES_CALLS: readonly Fault[] = ["callsLost", "answersLost", "slowNetwork", "bodiesTorn", "d1Fails"];
/** A host that can be reached and works has no container that Fleet does not know for longer. */
const UNKNOWN_MAX_MS = 15_000;
/** What an earlier version of a pod has left is free for others within this. */
const LEFT_MAX_MS = 10_000;
/** A host that was heard for so long is not taken for lost. */
const HEARD_MS = 5_000;
/** With these an agent may not know the containers of the one before, or not reach them. */
const FORGET_WORKERS: readonly Fault[] = ["daemonBroken", "diskFull", "portTaken"];
const DESIRED = "SELECT json FROM fact WHERE name = 'desired_workers'";
/** Rows are compared no more often: most events change none. */
const LOOK_MS = 250;

export class FleetRows {
  readonly #parts: FleetRowsParts;
  readonly #unknownSince = new Map<string, number>();
  #known: ReadonlyMap<string, WorkerRow> = new Map();
  /** Endpoints that Fleet knows. */
  #desiredIds: ReadonlySet<string> = new Set();
  readonly #isForgetting: boolean;
  readonly #fairness: Fairness;
  readonly #placements: Placements;
  readonly #preemptions: Preemptions;
  /** As the objects of all accounts have them. */
  #desired: readonly DesiredRow[] = [];
  /** What each object had when it was last seen. */
  readonly #seen = new Map<SimulatedObject, Seen>();
  /** Since when places have been held that are no longer used, by pod. */
  #leftSince = new Map<string, number>();
  /** As the objects of all accounts have them. */
  workers: readonly WorkerRow[] = [];
  #lookAt = 0;
  /** Calls arrive, so that it takes seconds until a host hears what is not wanted. */
  #isCallHeard: boolean;

  constructor(parts: FleetRowsParts) {
    this.#parts = parts;
    this.#fairness = new Fairness(parts);
    this.#placements = new Placements(parts);
    this.#preemptions = new Preemptions(parts.hosts, parts.violate);
    this.#isForgetting = FORGET_WORKERS.some((fault) => parts.plan.faults.has(fault));
    this.#isCallHeard = !HIDES_CALLS.some((fault) => parts.plan.faults.has(fault));
  }

  /** Some pod shall run and has no place. */
  get isPodWaiting(): boolean {
    const pods = [...this.#seen.values()].flatMap((one) => one.pods);
    return pods.some(({ pod_id: podId, desired }) => desired === "running" && !this.#known.has(podId));
  }

  /** There are no more faults. */
  healed(): void {
    this.#isCallHeard = true;
    this.#unknownSince.clear();
  }

  checkStep(): void {
    for (const object of this.#parts.edge.fleets.objects.values()) this.#checkFleet(object);
    const { world } = this.#parts;
    if (world.elapsedMs < this.#lookAt) return;
    this.#lookAt = world.elapsedMs + LOOK_MS;
    for (const host of this.#parts.hosts) this.#checkHost(host);
    this.#checkLeft();
  }

  #checkFleet(object: SimulatedObject): void {
    const { storage, machine } = object;
    const hasCrashed = machine.life !== (this.#seen.get(object)?.life ?? 0);
    if (!storage.takeIsChanged() && !hasCrashed) return;
    this.#seen.set(object, {
      life: machine.life,
      workers: tableOf<WorkerRow>(storage, "worker"),
      desired: tableOf<DesiredRow>(storage, "desired_workers"),
      pods: tableOf<PodRow>(storage, "pod"),
    });
    const all = [...this.#seen.values()];
    const before = this.#known;
    this.#known = new Map(all.flatMap(({ workers }) => workers).map((row) => [row.worker_id, row]));
    const rows = (this.workers = [...this.#known.values()]);
    const pods = all.flatMap((one) => one.pods);
    // What it had written last may be gone, which is no change.
    if (hasCrashed) {
      this.#checkPreemptions(pods, rows, true);
      return this.#fairness.forget();
    }
    const desired = (this.#desired = all.flatMap((one) => one.desired));
    this.#desiredIds = new Set(desired.map(({ endpoint_id: endpointId }) => endpointId));
    this.#checkRows(before, rows);
    this.#checkLimits(rows, desired);
    // While versions change, those of an earlier one stay beside the new ones.
    const started = this.#parts.plan.isManaged ? [] : startedBeyond(before, rows, desired);
    for (const what of started) this.#parts.violate(what);
    this.#placements.changed(before, rows);
    this.#checkPreemptions(pods, rows, false);
    this.#fairness.changed(rows, desired);
  }

  #checkPreemptions(pods: readonly PodRow[], workers: readonly WorkerRow[], hasCrashed: boolean): void {
    if (this.#parts.plan.hasPods) this.#preemptions.changed({ pods, workers }, !hasCrashed);
  }

  #checkRows(earlier: ReadonlyMap<string, WorkerRow>, rows: readonly WorkerRow[]): void {
    const moved = new Set(rows.flatMap((row) => (row.moves === null ? [] : row.endpoint_id)));
    for (const row of earlier.values())
      if (!moved.has(row.endpoint_id)) this.#checkChange(row, this.#known.get(row.worker_id));
    for (const row of rows) this.#checkRow(row);
  }

  /** An agent keeps what has nothing to do until Fleet does not want it. */
  idleStopped({ spec: { workerId } }: Container): void {
    if (this.#isForgetting) return;
    const row = [...this.#parts.edge.fleets.objects.values()]
      .flatMap(({ storage }) => tableOf<WorkerRow>(storage, "worker"))
      .find(({ worker_id }) => worker_id === workerId);
    // A pod that starts again keeps its name.
    if (row?.retired_in === null && row.standby_at === null && !row.is_pod)
      this.#parts.violate(`${workerId} was ended by its agent, though Fleet wants it`);
  }

  /** A pod that runs in another place than before holds no more than that. */
  #checkLeft(): void {
    const { world, hosts, calm, violate } = this.#parts;
    const before = this.#leftSince;
    this.#leftSince = new Map();
    for (const { worker_id: podId, host_id: hostId, version, leaving } of this.workers) {
      const host = leaving === null ? undefined : hosts.find((one) => one.hostId === hostId);
      const container = host?.containers.all.get(podId);
      if (!host || !container?.isRunning || container.spec.revision !== version) continue;
      const since = before.get(podId) ?? world.elapsedMs;
      this.#leftSince.set(podId, since);
      if (Math.min(world.elapsedMs - since, calm.ofCalls(host)) > LEFT_MAX_MS)
        violate(`the pod ${podId} runs, and ${hostId} still keeps what it had before: ${leaving}`);
    }
  }

  /** What leaves is shown as nothing else. */
  #checkRow({ worker_id: workerId, retired_in: retiredIn, state }: WorkerRow): void {
    if (retiredIn !== null && state !== "stopping")
      this.#parts.violate(`${workerId} is to leave, and is shown as ${state}`);
  }

  /** A worker stays until its endpoint names it, or its host is lost. */
  #checkChange(before: WorkerRow, after: WorkerRow | undefined): void {
    if (before.is_pod) return;
    if (!after) return this.#checkGone(before);
    if (before.standby_at !== null && after.standby_at === null) this.#checkRevival(after);
    if (before.retired_in !== null) return;
    const { worker_id: workerId, host_id: hostId } = before;
    if (this.#parts.accounts.some(({ drainedHostIds }) => drainedHostIds.has(hostId))) return;
    const leaves = after.retired_in !== null || after.standby_at !== null;
    if (leaves && before.standby_at === null && !this.#isNamed(before))
      this.#parts.violate(`${workerId} leaves, in an epoch that its endpoint has not named`);
  }

  /** A worker on standby takes up work again only for the version that it was started for. */
  #checkRevival({ worker_id: workerId, endpoint_id: of, retired_in: retiredIn, version }: WorkerRow): void {
    const { config } = this.#desired.find(({ endpoint_id: endpointId }) => endpointId === of) ?? {};
    if (retiredIn !== null || config === undefined) return;
    const { version: present } = JSON.parse(config) as { readonly version: number };
    if (version !== present)
      this.#parts.violate(`${workerId} of version ${version} of ${of} is revived for version ${present}`);
  }

  #checkGone({ worker_id: workerId, host_id: hostId, retired_in: retiredIn }: WorkerRow): void {
    const host = this.#parts.hosts.find((one) => one.hostId === hostId);
    const isThere = host !== undefined && this.#parts.calm.ofCalls(host) > HEARD_MS;
    // One that leaves is gone when its agent says so: then the edge has all that the agent had of it.
    if (!isThere || retiredIn === null) this.#parts.executions.workerLost(workerId);
    if (isThere && retiredIn === null)
      this.#parts.violate(`${workerId} was taken for lost with ${hostId}, which is there`);
  }

  #isNamed({ worker_id: workerId, endpoint_id: endpointId, revivals }: WorkerRow): boolean {
    if (!this.#desiredIds.has(endpointId)) return true; // the endpoint was deleted
    const { storage } = this.#parts.edge.endpoints.object(`${endpointId}#0`);
    const [desired] = storage.select(DESIRED);
    if (!desired) return true; // it is being deleted
    const { leaving } = JSON.parse(String(desired["json"])) as { readonly leaving: readonly string[] };
    return leaving.includes(revivals === 0 ? workerId : `${workerId}/${revivals}`);
  }

  /** No endpoint has more workers than it may have, those aside that are leaving. */
  #checkLimits(rows: readonly WorkerRow[], desired: readonly DesiredRow[]): void {
    if (this.#parts.plan.isManaged) return; // after another limit or image some stay longer
    for (const { endpoint_id: endpointId, config } of desired) {
      const { workersMax } = JSON.parse(config) as { readonly workersMax: number };
      const staying = rows.filter(
        (row) => row.endpoint_id === endpointId && row.retired_in === null && !AWAY.has(row.state),
      );
      if (staying.length > workersMax) {
        const names = staying.map((row) => `${row.worker_id} ${row.state}`).join(", ");
        this.#parts.violate(`${endpointId} has ${staying.length} workers of ${workersMax}: ${names}`);
      }
    }
  }

  #checkHost({ hostId, isUp, isRemoved, isDiskFull, machine, containers }: SimulatedHost): void {
    const { network, world } = this.#parts;
    const works =
      isUp && !isRemoved && !isDiskFull && !containers.isBroken && containers.hanging.length === 0;
    const isReachable = this.#isCallHeard && works && !network.outages.has(machine);
    for (const [workerId, container] of containers.all) {
      // The workers of a host that was lost end their jobs, though Fleet has given their places away.
      const isAllowed =
        this.#known.get(workerId)?.host_id === hostId || this.#parts.executions.isBusy(container);
      if (!isReachable || isAllowed) {
        this.#unknownSince.delete(workerId);
        continue;
      }
      const since = this.#unknownSince.get(workerId) ?? world.elapsedMs;
      this.#unknownSince.set(workerId, since);
      if (world.elapsedMs - since > UNKNOWN_MAX_MS)
        this.#parts.violate(`host ${hostId} has container ${workerId}, which Fleet does not know, for long`);
    }
  }
}

/** Rows of an object, also those that it has put aside for the objects of other accounts. */
function tableOf<Row>(storage: ObjectStorage, table: string): Row[] {
  const aside = storage.rowsOf("handover");
  return [
    ...aside.flatMap(({ name, row }) => (name === table ? (JSON.parse(String(row)) as Row) : [])),
    ...(storage.rowsOf(table) as Row[]),
  ];
}

/** Workers that do not count. */
const AWAY = new Set(["standby", "stopping", "ended", "failed"]);

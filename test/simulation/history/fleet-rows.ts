/** What holds of the workers that Fleet knows and the containers of hosts. */
import type { SimulatedHost } from "../host/host.ts";
import type { Network } from "../runtime/network.ts";
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { World } from "../world/world.ts";
import type { Executions } from "./executions.ts";
import type { Fault, HistoryPlan } from "./plan.ts";

export type FleetRowsParts = {
  readonly world: World;
  readonly network: Network;
  readonly edge: SimulatedEdge;
  readonly plan: HistoryPlan;
  readonly executions: Executions;
  readonly hosts: readonly SimulatedHost[];
  readonly violate: (what: string) => void;
};

export type WorkerRow = {
  readonly worker_id: string;
  readonly endpoint_id: string;
  readonly host_id: string;
  readonly state: string;
  readonly retired_in: number | null;
  /** JSON. */
  readonly gpu_indexes: string;
};

const HIDES_CALLS: readonly Fault[] = ["callsLost", "answersLost", "slowNetwork", "bodiesTorn", "d1Fails"];
/** A host that can be reached and works has no container that Fleet does not know for longer. */
const UNKNOWN_MAX_MS = 15_000;
/** Rows are compared no more often: most events change none. */
const LOOK_MS = 250;

export class FleetRows {
  readonly #parts: FleetRowsParts;
  readonly #unknownSince = new Map<string, number>();
  #known: ReadonlySet<string> = new Set();
  /** As Fleet has them. */
  workers: readonly WorkerRow[] = [];
  #lookAt = 0;
  /** Calls arrive, so that it takes seconds until a host hears what is not wanted. */
  #isCallHeard: boolean;

  constructor(parts: FleetRowsParts) {
    this.#parts = parts;
    this.#isCallHeard = !HIDES_CALLS.some((fault) => parts.plan.faults.has(fault));
  }

  /** There are no more faults. */
  healed(): void {
    this.#isCallHeard = true;
    this.#unknownSince.clear();
  }

  checkStep(): void {
    for (const { storage } of this.#parts.edge.fleets.objects.values()) {
      if (!storage.takeIsChanged()) continue;
      const rows = storage.rowsOf("worker") as WorkerRow[];
      this.workers = rows;
      this.#known = new Set(rows.map((row) => row.worker_id));
      this.#checkLimits(rows, storage.rowsOf("desired_workers"));
    }
    const { world } = this.#parts;
    if (world.elapsedMs < this.#lookAt) return;
    this.#lookAt = world.elapsedMs + LOOK_MS;
    for (const host of this.#parts.hosts) this.#checkHost(host);
  }

  /** No endpoint has more workers than it may have, those aside that are leaving. */
  #checkLimits(rows: readonly WorkerRow[], desired: readonly Record<string, unknown>[]): void {
    if (this.#parts.plan.isManaged) return; // after another limit or image some stay longer
    for (const { endpoint_id: endpointId, config } of desired) {
      const { workersMax } = JSON.parse(String(config)) as { readonly workersMax: number };
      const staying = rows.filter(
        (row) => row.endpoint_id === endpointId && row.retired_in === null && !AWAY.has(row.state),
      );
      if (staying.length > workersMax) {
        const names = staying.map((row) => `${row.worker_id} ${row.state}`).join(", ");
        this.#parts.violate(`${String(endpointId)} has ${staying.length} workers of ${workersMax}: ${names}`);
      }
    }
  }

  #checkHost({ hostId, isUp, machine, containers }: SimulatedHost): void {
    const { network, world } = this.#parts;
    const isReachable = this.#isCallHeard && isUp && !network.cut.has(machine) && !containers.isBroken;
    for (const [workerId, container] of containers.all) {
      // The workers of a host that was lost end their jobs, though Fleet has given their places away.
      const isAllowed = this.#known.has(workerId) || this.#parts.executions.isBusy(container);
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

/** Workers that do not count. */
const AWAY = new Set(["standby", "stopping", "ended", "failed"]);

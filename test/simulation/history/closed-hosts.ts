/** What holds of a host that its owner has cordoned or drained, from the answer to that until it is lifted. */
import type { SimulatedHost } from "../host/host.ts";
import type { World } from "../world/world.ts";
import type { Account } from "./account.ts";
import type { Calm } from "./calm.ts";
import type { Executions } from "./executions.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

export type Closing = "cordoned" | "drained";

export type ClosedHostsParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly calm: Calm;
  readonly executions: Executions;
  readonly hosts: readonly SimulatedHost[];
  readonly accounts: readonly Account[];
  /** As Fleet has them. */
  readonly workers: () => readonly WorkerRow[];
  readonly violate: (what: string) => void;
};

type Closed = {
  readonly how: Closing;
  readonly at: number;
  /** How often each worker that was there had been revived. */
  readonly revivals: ReadonlyMap<string, number>;
};

/** Fleet itself decides which workers leave, and does so within this time. */
const DECIDED_MS = 5_000;
/** An idle worker of a drained host is gone within this time, while the host works and is heard. */
const GONE_MS = 30_000;
/** With these, containers stay for long. */
const KEEP_CONTAINERS: readonly Fault[] = ["stopsIgnored", "killsHang"];

export class ClosedHosts {
  readonly #parts: ClosedHostsParts;
  readonly #closed = new Map<string, Closed>();
  readonly #revivals = new Map<string, number>();
  /** Since when a worker of a drained host has had no job. */
  readonly #idleSince = new Map<string, number>();

  constructor(parts: ClosedHostsParts) {
    this.#parts = parts;
  }

  /** The edge has answered that it is. */
  closed(hostId: string, how: Closing): void {
    const { world } = this.#parts;
    this.#closed.set(hostId, { how, at: world.elapsedMs, revivals: new Map(this.#revivals) });
  }

  /** Somebody asks for its end. */
  lifting(hostId: string): void {
    this.#closed.delete(hostId);
  }

  checkStep(): void {
    if (!this.#parts.plan.hasHostChanges) return;
    for (const row of this.#parts.workers()) {
      const closed = this.#closed.get(row.host_id);
      // Pods have places of their own.
      if (closed && !row.is_pod) this.#check(row, closed);
      this.#revivals.set(row.worker_id, row.revivals);
    }
  }

  #check(row: WorkerRow, closed: Closed): void {
    const { world, violate } = this.#parts;
    const { worker_id: workerId, host_id: hostId, revivals, retired_in: retiredIn } = row;
    const what = `the host ${hostId}, ${closed.how} at ${closed.at} ms,`;
    const before = closed.revivals.get(workerId);
    if (before === undefined) violate(`${what} got the worker ${workerId}`);
    else if (revivals > before) violate(`${what} had the worker ${workerId} revived`);
    if (world.elapsedMs - closed.at < DECIDED_MS) return;
    if (row.standby_at !== null && retiredIn === null) violate(`${what} keeps ${workerId} on standby`);
    if (closed.how === "cordoned") return;
    if (retiredIn === null) violate(`${what} keeps the worker ${workerId}`);
    else this.#checkIdle(row, what);
  }

  /** One that leaves is gone soon after its job. */
  #checkIdle(
    { worker_id: workerId, host_id: hostId, endpoint_id: endpointId }: WorkerRow,
    what: string,
  ): void {
    const { world, plan, calm, executions, hosts, accounts, violate } = this.#parts;
    const host = hosts.find((one) => one.hostId === hostId);
    const hasQueue = accounts.some(({ endpointIds }) => endpointIds.includes(endpointId));
    const isBusy = executions.executionIn(workerId) !== undefined;
    if (!host || !hasQueue || isBusy || KEEP_CONTAINERS.some((fault) => plan.faults.has(fault)))
      return void this.#idleSince.delete(workerId);
    const since = this.#idleSince.get(workerId) ?? world.elapsedMs;
    this.#idleSince.set(workerId, since);
    if (world.elapsedMs - since > GONE_MS && calm.ofCalls(host) > GONE_MS)
      violate(`${what} still has the worker ${workerId}, which has been idle since ${since} ms`);
  }
}

/** Where Fleet puts workers, and what it gives them of their hosts. */
import type { SimulatedHost } from "../host/host.ts";
import { type Account, accountWith } from "./account.ts";
import type { Calm } from "./calm.ts";
import {
  amountsFor,
  amountsOf,
  type Requirement,
  hasPlace,
  NAMES,
  overfullGpus,
  takenOf,
  totalOf,
} from "./capacity.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import type { HistoryPlan } from "./plan.ts";

export type PlacementsParts = {
  readonly plan: HistoryPlan;
  readonly hosts: readonly SimulatedHost[];
  readonly accounts: readonly Account[];
  readonly calm: Calm;
  readonly violate: (what: string) => void;
};

type Rows = readonly WorkerRow[];
type Placed = { readonly row: WorkerRow; readonly host: SimulatedHost; readonly requirement: Requirement };

/** Fleet knows what a host has that was heard for so long. */
const HEARD_MS = 5_000;

export class Placements {
  readonly #parts: PlacementsParts;

  constructor(parts: PlacementsParts) {
    this.#parts = parts;
  }

  /** Rows of workers have become others. */
  changed(before: ReadonlyMap<string, WorkerRow>, rows: Rows): void {
    for (const host of this.#parts.hosts) this.#checkTotal(host, rows);
    const added = rows.filter((row) => !before.has(row.worker_id) && row.is_pod === 0);
    for (const row of added) {
      const host = this.#parts.hosts.find(({ hostId }) => hostId === row.host_id);
      const account = accountWith(this.#parts.accounts, row.endpoint_id);
      if (!host || !account) continue;
      const placed = { row, host, requirement: account.requirementOf(row.endpoint_id) };
      const tier = this.#checkGpus(placed);
      this.#checkAmounts(placed);
      if (tier !== undefined) this.#checkPreference(placed, account, tier, [[...before.values()], rows]);
    }
  }

  /** All workers on a host take no more than it has, nor of any GPU; one that declares no memory has its GPUs alone. */
  #checkTotal(host: SimulatedHost, rows: Rows): void {
    const [total, taken] = [totalOf(host), takenOf(host, rows)];
    for (const name of NAMES)
      if (taken.amounts[name] > total[name])
        this.#parts.violate(
          `workers on ${host.hostId} take ${taken.amounts[name]} ${name} of ${total[name]}`,
        );
    for (const index of overfullGpus(host, taken))
      this.#parts.violate(`workers have more of GPU ${index} of ${host.hostId} than there is`);
  }

  /** It has as many GPUs as it asks for, of one of its tiers, which is returned, and of no model that it excludes. */
  #checkGpus({ row, host, requirement }: Placed): string | undefined {
    const indexes = JSON.parse(row.gpu_indexes) as number[];
    const gpus = host.inventory.gpus.filter(({ index }) => indexes.includes(index));
    const tier = requirement.tiers.find((one) => gpus.every((gpu) => gpu.tier === one));
    const isExcluded = gpus.some(({ name }) => requirement.excludedModels.includes(name));
    const isRight = tier !== undefined && gpus.length === requirement.gpuCount && !isExcluded;
    if (isRight) return tier;
    const names = gpus.map(({ name }) => name).join(", ");
    this.#parts.violate(
      `${row.worker_id} got ${names}, and its endpoint asks for ${requirement.gpuCount} of ${requirement.tiers.join(", ")}, not of ${requirement.excludedModels.join(", ")}`,
    );
    return undefined;
  }

  /** It has the share of its host that goes with its GPUs, and the disk that it asks for. */
  #checkAmounts({ row, host, requirement }: Placed): void {
    const [index] = JSON.parse(row.gpu_indexes) as number[];
    const gpu = host.inventory.gpus.find((one) => one.index === index);
    const [given, needed] = [amountsOf(row.size), amountsFor(host, requirement, gpu)];
    if ((given.gpuMemoryMb ?? Infinity) !== requirement.gpuMemoryMb)
      this.#parts.violate(
        `${row.worker_id} got ${given.gpuMemoryMb} MiB instead of ${requirement.gpuMemoryMb}`,
      );
    for (const name of NAMES)
      if (given[name] !== needed[name])
        this.#parts.violate(`${row.worker_id} got ${given[name]} ${name} instead of ${needed[name]}`);
  }

  /** No GPUs of a tier that its endpoint prefers were free for it, neither before nor beside what was placed then. */
  #checkPreference(
    { row, requirement }: Placed,
    account: Account,
    tier: string,
    looks: readonly Rows[],
  ): void {
    const { plan, calm, violate } = this.#parts;
    // A worker that failed avoids hosts, and places that pods leave are promised.
    if (row.moves !== null || plan.hasPods) return;
    const better = requirement.tiers.slice(0, requirement.tiers.indexOf(tier));
    const host = account.hosts.find(
      (one) =>
        !account.closedHostIds.has(one.hostId) &&
        calm.ofCalls(one) > HEARD_MS &&
        looks.every((rows) => hasPlace(one, requirement, rows, better)),
    );
    if (host)
      violate(`${row.worker_id} got ${tier}, though ${host.hostId} has a place on ${better.join(" or ")}`);
  }
}

/** What endpoints lack, since when, and why: for their reports, and to plan them again when that may have changed. */
import type { FleetReport } from "../../domain/jobs/queue-reason.ts";
import type { Rank } from "../../domain/placement/fleet-plan.ts";
import type { HostPool, PlacementFailure } from "../../domain/placement/host-pool.ts";
import { explainPlacementFailure } from "../../domain/placement/placement-failure.ts";
import { isActive, type DesiredWorkersRecord, type FleetStore } from "../fleet-store.ts";
import type { CapacitySharing } from "./capacity-sharing.ts";
import { evictionSetsOf } from "./eviction-sets.ts";

/** Cache time of placement failures: finding one is expensive with many hosts. */
export const PLACEMENT_FAILURE_CACHE_MS = 5_000;

export type Lack = Rank & {
  readonly record: DesiredWorkersRecord;
  readonly missing: number;
  /** Epoch ms. */
  readonly since: number;
};

type Shortfall = Lack & {
  readonly failure: PlacementFailure;
  /** Others have the capacity that would do. */
  readonly isTaken: boolean;
  /** Sets of older workers, each of which would free a place. */
  readonly evictionSets: readonly (readonly string[])[];
  /** When the failure was found, and for which generation of hosts. */
  readonly foundAt: number;
  readonly generation: number;
};

export type DueShortfall = { readonly lack: Lack; readonly among: ReadonlySet<string> };

type PlacementStatus = Omit<FleetReport, "revision" | "workers" | "contention">;

export class Shortfalls {
  readonly #store: FleetStore;
  readonly #sharing: Pick<CapacitySharing, "reasonOf">;
  readonly #byEndpoint = new Map<string, Shortfall>();
  /** Endpoints whose placement failure may have other reasons by now. */
  readonly #stale = new Set<string>();

  constructor(parts: { readonly store: FleetStore; readonly sharing: Pick<CapacitySharing, "reasonOf"> }) {
    this.#store = parts.store;
    this.#sharing = parts.sharing;
  }

  of(endpointId: string): Lack | undefined {
    return this.#byEndpoint.get(endpointId);
  }

  /** Some placement failure is stale: a later plan finds it again. */
  get hasStale(): boolean {
    return this.#stale.size > 0;
  }

  /** Of endpoints for which others have capacity that would do; rollouts wait. */
  get taken(): readonly Lack[] {
    return [...this.#byEndpoint.values()].filter(({ isTaken, canWait }) => isTaken && !canWait);
  }

  /**
   * Those for which changed hosts may have capacity, or for which some is being freed; `among`: the changed hosts.
   * `except`: endpoints to leave out.
   */
  due(
    except: ReadonlySet<string>,
    changedHosts: ReadonlyMap<string, ReadonlySet<string>>,
    isFreeing: boolean,
    now: number,
  ): readonly DueShortfall[] {
    return [...this.#byEndpoint].flatMap(([endpointId, shortfall]) => {
      const among = changedHosts.get(shortfall.record.config.accountId);
      const isStale = this.#stale.has(endpointId) && now - shortfall.foundAt >= PLACEMENT_FAILURE_CACHE_MS;
      const isDue = (among !== undefined || isStale || isFreeing) && !except.has(endpointId);
      const record = isDue ? this.#store.desiredWorkers.get(endpointId) : undefined;
      return record ? [{ lack: { ...shortfall, record }, among: among ?? NO_HOSTS }] : [];
    });
  }

  /** Records what an endpoint lacks; returns whether that is news to it. */
  record(lack: Lack, pool: HostPool, now: number): boolean {
    const { record } = lack;
    const { endpointId } = record.config;
    const previous = this.#byEndpoint.get(endpointId);
    const isCached =
      previous?.record === record &&
      previous.generation === pool.generation &&
      now - previous.foundAt < PLACEMENT_FAILURE_CACHE_MS;
    const { failure, isTaken, foundAt, generation } = isCached
      ? previous
      : { ...explainIn(pool, record), foundAt: now };
    const evictionSets = evictionSetsOf(this.#store, record.config, pool);
    const shortfall = { ...lack, failure, isTaken, evictionSets, foundAt, generation };
    if (isCached) this.#stale.add(endpointId);
    else this.#stale.delete(endpointId);
    this.#byEndpoint.set(endpointId, shortfall);
    return !previous || reportOf(previous) !== reportOf(shortfall);
  }

  /** The endpoint lacks nothing; returns whether it did before. */
  clear(endpointId: string): boolean {
    this.#stale.delete(endpointId);
    return this.#byEndpoint.delete(endpointId);
  }

  /**
   * Why the endpoint has fewer workers than desired, and how many fewer; those of an older version count until they
   * are replaced.
   */
  statusOf(endpointId: string): PlacementStatus {
    const shortfall = this.#byEndpoint.get(endpointId);
    const desired = this.#store.desiredWorkers.get(endpointId)?.desired ?? 0;
    if (!shortfall) return { missing: 0, shortage: null };
    const staying = this.#store.workersOf(endpointId).filter(isActive);
    const sharing = this.#sharing.reasonOf(endpointId);
    const failure: PlacementFailure =
      sharing === undefined
        ? shortfall.failure
        : { reason: "waiting_for_share", detail: `${shortfall.failure.detail} ${sharing}` };
    const lacking = Math.min(shortfall.missing, Math.max(0, desired - staying.length));
    const isRolling = staying.some(({ version }) => version < shortfall.record.config.version);
    return {
      missing: lacking,
      shortage: lacking > 0 ? failure : null,
      ...(isRolling && { rollShortage: { shortage: failure, roomBy: shortfall.evictionSets } }),
    };
  }
}

const NO_HOSTS: ReadonlySet<string> = new Set();

function explainIn(pool: HostPool, { config }: DesiredWorkersRecord) {
  const { isTaken, ...failure } = explainPlacementFailure(config, pool.hosts);
  return { failure, isTaken, generation: pool.generation };
}

/** What the endpoint learns of it. */
function reportOf({ missing, failure, evictionSets }: Shortfall): string {
  return JSON.stringify([missing, failure.detail, evictionSets]);
}

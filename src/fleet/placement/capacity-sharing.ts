/**
 * Endpoints that want more capacity than there is get it from others of the account.
 *
 * C1  A worker without a job gives way to an endpoint whose job waits, unless it is one of workersMin, or has come up so
 *     recently that its start took longer than it has been of use.
 * C2  A worker with jobs gives way after them, where the endpoint that waits comes first (domain/placement/shares.ts).
 * C3  Only the endpoint knows which of its workers are free: it states that while capacity is short, and it alone
 *     gives them up.
 *
 * In memory only: after a loss of memory another contention begins, and endpoints state everything again.
 */
import type { Contention } from "../../domain/jobs/queue-reason.ts";
import { serveFairly } from "../../domain/placement/fleet-plan.ts";
import { cardsTaken } from "../../domain/placement/gpu-memory.ts";
import { epochOf } from "../../domain/placement/standby.ts";
import { UsedCapacity, type Claimant } from "../../domain/placement/shares.ts";
import { SHARE_WEIGHT_DEFAULT } from "../../contract/endpoint.ts";
import type { CapacityStatement } from "../../durable/ports.ts";
import { earliest } from "../../std/earliest.ts";
import { isActive, type DesiredWorkersRecord, type FleetStore, type WorkerRecord } from "../fleet-store.ts";
import type { HostPools } from "../hosts/host-pools.ts";
import type { PromisedPlaces } from "../pods/promised-places.ts";
import { GiveWaySearch, type Candidate, type Mode } from "./give-way-search.ts";

/** Places that are looked for at a time; what is left comes next. */
const PLACES_PER_PLAN_MAX = 4;
/** Least time between two plans where so many endpoints take part. */
const MANY_CONTENDERS = 50;
const PLAN_INTERVAL_MS = 250;
/** How long Fleet waits for endpoints to state which of their workers are free before it takes others. */
const STATEMENT_WAIT_MS = 1_000;

/** An endpoint that lacks workers because others have the capacity. */
export type ShortEndpoint = {
  readonly record: DesiredWorkersRecord;
  /** Without those to which a place is promised. */
  readonly missing: number;
  readonly least: number;
  /** Since when, epoch ms. */
  readonly since: number;
};

type SharingParts = {
  readonly store: FleetStore;
  readonly pools: HostPools;
  readonly promised: PromisedPlaces;
};

export class CapacitySharing {
  readonly #parts: SharingParts;
  readonly #used = new UsedCapacity();
  readonly #statements = new Map<string, CapacityStatement>();
  /** Since when endpoints that lack workers have had none, epoch ms. */
  #withoutSince: ReadonlyMap<string, number> = new Map();
  /** Of the present contention; null while there is none. */
  #number: number | null = null;
  #lastNumber = 0;
  /** Workers that have been asked to give way. */
  #asked: ReadonlyMap<string, Mode> = new Map();
  /** By endpoint. */
  #contentions: ReadonlyMap<string, Contention> = new Map();
  #reasons: ReadonlyMap<string, string> = new Map();
  #reviewAt: number | null = null;
  #plannedAt = 0;
  #hasNews = false;

  constructor(parts: SharingParts) {
    this.#parts = parts;
  }

  /** Endpoints want more capacity than there is. */
  get isActive(): boolean {
    return this.#number !== null;
  }

  /** When to plan again although nothing happens; null for never. */
  get reviewAt(): number | null {
    return this.#reviewAt;
  }

  isDue(now: number): boolean {
    return this.#hasNews || (this.#reviewAt !== null && now >= this.#reviewAt);
  }

  /** An endpoint states which of its workers are free. */
  state(statement: CapacityStatement): void {
    if (statement.number !== this.#number) return;
    this.#statements.set(statement.endpointId, statement);
    this.#hasNews = true;
  }

  /** What an endpoint has used of its share, in ms for a weight of 1. */
  usedBy(endpointId: string): number {
    return this.#used.of(endpointId);
  }

  /** Since when an endpoint has had no worker while capacity is short, epoch ms; null where that is not so. */
  withoutSince(endpointId: string): number | null {
    return this.#withoutSince.get(endpointId) ?? null;
  }

  /** What the endpoint must know of it. */
  contentionOf(endpointId: string): Contention | undefined {
    return this.#contentions.get(endpointId);
  }

  /** Who has what an endpoint waits for, and when it gets it; undefined where that is not why. */
  reasonOf(endpointId: string): string | undefined {
    return this.#reasons.get(endpointId);
  }

  /** Looks for workers that give way to these endpoints; returns the endpoints for which something has changed. */
  plan(accountId: string, short: readonly ShortEndpoint[], now: number): readonly string[] {
    const againAt = this.#contentions.size > MANY_CONTENDERS ? this.#plannedAt + PLAN_INTERVAL_MS : 0;
    if (now < againAt && short.length > 0) {
      this.#reviewAt = againAt;
      return [];
    }
    this.#plannedAt = now;
    this.#hasNews = false;
    this.#reviewAt = null;
    const before = { contentions: this.#contentions, reasons: this.#reasons };
    const claims = short.filter(({ missing }) => missing > 0);
    const contenders = this.#contenders(accountId, claims, now);
    const canGiveWay = claims.some(({ record }) => mayGetMore(record.config.endpointId, contenders));
    // While a place changes hands, nobody may have it.
    const isFreeing = this.isActive && claims.length > 0 && this.#parts.store.retired.size > 0;
    if (canGiveWay || isFreeing) this.#share(claims, contenders, now);
    else if (this.isActive) this.#end();
    const ids = new Set([...before.contentions.keys(), ...this.#contentions.keys()]);
    return [...ids].filter(
      (id) =>
        JSON.stringify(before.contentions.get(id)) !== JSON.stringify(this.#contentions.get(id)) ||
        before.reasons.get(id) !== this.#reasons.get(id),
    );
  }

  #end(): void {
    this.#number = null;
    this.#used.clear();
    this.#withoutSince = new Map();
    this.#statements.clear();
    this.#asked = new Map();
    this.#contentions = new Map();
    this.#reasons = new Map();
  }

  #share(short: readonly ShortEndpoint[], contenders: ReadonlyMap<string, Claimant>, now: number): void {
    this.#number ??= this.#lastNumber = Math.max(now, this.#lastNumber + 1);
    const search = new GiveWaySearch(
      { ...this.#parts, contenders, statements: this.#statements, asked: this.#asked },
      now,
    );
    const isInformed = [...contenders.values()].every(
      ({ endpointId, units }) => units === 0 || this.#statements.has(endpointId),
    );
    const informedAt = this.#number + STATEMENT_WAIT_MS;
    search.takesBusy = isInformed || now >= informedAt;
    const reasons = new Map<string, string>();
    const needs = short.flatMap(({ record, missing }) => {
      const { endpointId } = record.config;
      const contender = contenders.get(endpointId);
      const isWaiting = this.#statements.get(endpointId)?.isWaiting ?? false;
      const isBelowLeast = contender !== undefined && contender.has < contender.least;
      if (!contender || !(isWaiting || isBelowLeast) || !mayGetMore(endpointId, contenders)) return [];
      return [{ ...contender, desired: contender.has + missing }];
    });
    let left = PLACES_PER_PLAN_MAX;
    serveFairly(needs, now, ({ endpointId }) => {
      const claimant = contenders.get(endpointId);
      const record = this.#parts.store.desiredWorkers.get(endpointId);
      if (!claimant || !record || (left -= 1) < 0) return false;
      const found = search.placeFor(claimant, record);
      if (!reasons.has(endpointId)) reasons.set(endpointId, this.#explain(found, contenders));
      return found !== undefined;
    });
    this.#asked = search.asked;
    this.#reasons = reasons;
    this.#contentions = this.#describe(contenders, this.#number);
    this.#reviewAt = earliest([search.reviewAt, search.takesBusy ? null : informedAt]);
  }

  /** The endpoints of the account that want capacity or have some; none while all have what they want. */
  #contenders(
    accountId: string,
    short: readonly ShortEndpoint[],
    now: number,
  ): ReadonlyMap<string, Claimant> {
    if (short.length === 0) return new Map();
    const byId = new Map(short.map((one) => [one.record.config.endpointId, one]));
    const present = [...this.#parts.store.desiredWorkers.values()].flatMap(({ config }) => {
      if (config.accountId !== accountId) return [];
      const workers = this.#parts.store.workersOf(config.endpointId).filter(isActive);
      const lacking = byId.get(config.endpointId);
      if (workers.length === 0 && !lacking) return [];
      return [
        {
          endpointId: config.endpointId,
          weight: config.shareWeight ?? SHARE_WEIGHT_DEFAULT,
          priority: config.sharePriority ?? ("NORMAL" as const),
          has: workers.length,
          least: Math.max(lacking?.least ?? 0, config.workersMin),
          since: lacking?.since ?? null,
          units: workers.reduce((sum, worker) => sum + this.#unitsOf(worker), 0),
        },
      ];
    });
    this.#used.count(present, now);
    this.#withoutSince = new Map(
      present
        .filter(({ units }) => units === 0)
        .map(({ endpointId }) => [endpointId, this.#withoutSince.get(endpointId) ?? now]),
    );
    return new Map(
      present.map((one) => [
        one.endpointId,
        { ...one, usedMs: this.#used.of(one.endpointId), withoutSince: this.withoutSince(one.endpointId) },
      ]),
    );
  }

  /** In GPUs, or parts of one that is shared; a worker without GPUs counts as one. */
  #unitsOf(worker: WorkerRecord): number {
    const { gpus = [] } = this.#parts.store.hosts.get(worker.hostId)?.inventory ?? {};
    const isPart = worker.size?.gpuMemoryMb !== undefined;
    return isPart ? cardsTaken(worker, gpus) || 1 : Math.max(1, worker.gpuIndexes.length);
  }

  #describe(contenders: ReadonlyMap<string, Claimant>, number: number): ReadonlyMap<string, Contention> {
    const asked = [...this.#asked].flatMap(([workerId, mode]) => {
      const worker = this.#parts.store.workers.get(workerId);
      return worker ? [{ endpointId: worker.endpointId, epoch: epochOf(worker), mode }] : [];
    });
    const byEndpoint = Map.groupBy(asked, ({ endpointId }) => endpointId);
    const epochs = (endpointId: string, mode: Mode) =>
      (byEndpoint.get(endpointId) ?? []).filter((one) => one.mode === mode).map(({ epoch }) => epoch);
    return new Map(
      [...contenders.keys()].map((id) => [
        id,
        { number, whenFree: epochs(id, "whenFree"), afterJobs: epochs(id, "afterJobs") },
      ]),
    );
  }

  #explain(found: readonly Candidate[] | undefined, contenders: ReadonlyMap<string, Claimant>): string {
    const nameOf = (id: string) =>
      JSON.stringify(this.#parts.store.desiredWorkers.get(id)?.config.name ?? id);
    const [last] = (found ?? []).slice(-1);
    if (!found || !last) {
      const busy = [...contenders.values()]
        .filter(({ units }) => units > 0)
        .map(({ endpointId }) => endpointId);
      return `Workers of ${nameEndpoints(busy.map(nameOf))} have it now; this endpoint gets the place of a worker that has no job, or whose endpoint has used more of its share.`;
    }
    const name = nameOf(last.worker.endpointId);
    return last.mode === "whenFree"
      ? `A worker of the endpoint ${name} has no job and gives way.`
      : `A worker of the endpoint ${name}, which has used more of its share, gives way after the jobs it has.`;
  }
}

/** Whether another endpoint has workers that it may have to give up. */
function mayGetMore(endpointId: string, contenders: ReadonlyMap<string, Claimant>): boolean {
  return [...contenders.values()].some((other) => other.endpointId !== endpointId && other.has > other.least);
}

const NAMES_MAX = 3;

function nameEndpoints(names: readonly string[]): string {
  if (names.length === 0) return "other endpoints";
  const shown = names.slice(0, NAMES_MAX).join(", ");
  return names.length > NAMES_MAX ? `${shown} and ${names.length - NAMES_MAX} more` : shown;
}

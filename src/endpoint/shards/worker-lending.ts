/**
 * Workers that the first object of an endpoint lends to the others.
 *
 * H3  A worker serves one object at a time, and has jobs of one at a time: its agent moves it when it has no job of the
 *     one before. While it is lent it counts as busy here, so it is never told to leave. It may be told again once it
 *     has offered a slot here.
 */
import { acceptsJobs } from "../../domain/scaling/open-slots.ts";
import {
  planLoans,
  type LoanMove,
  type LoanWorker,
  type ShardDemand,
} from "../../domain/scaling/worker-loans.ts";
import type { WorkerSnapshot } from "../../domain/jobs/queue-reason.ts";
import { earliest } from "../../std/earliest.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import type { ExchangeCall } from "../messages.ts";
import type { Claims } from "../queue/claims.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { KnownLoad, ShardCalls } from "./shard-calls.ts";
import { loansOf, type HostLoans, type Loan, type ShardStates } from "./shard-state.ts";

/** How long a worker counts as on its way to another object: nobody says when it has arrived. */
const ON_ITS_WAY_MS = 1_000;

const NONE: readonly (readonly [string, number])[] = [];

/** A worker that has come back, and where it was: since when it has no job, those objects say. */
type Return = { readonly workerId: string; readonly loan: Loan; readonly at: number };

export type WorkerLendingParts = {
  readonly state: ShardStates;
  readonly facts: EndpointFacts;
  readonly claims: Pick<Claims, "runningIn" | "workers" | "waitingSince">;
  readonly ledger: Pick<QueueLedger, "counts">;
  readonly calls: ShardCalls;
  readonly idleTimes: { readonly freeSince: (workerId: string) => number | undefined };
};

export class WorkerLending {
  readonly #parts: WorkerLendingParts;
  /** Hosts whose agents can move workers between objects. */
  readonly #ableHosts = new Set<string>();
  /** Those whose idle times are not known yet. */
  #returns: readonly Return[] = [];
  /** When a lent worker will have been idle for long; null while none is idle. */
  #returnAt: number | null = null;
  /** Hosts that must hear of other loans. */
  #hostsToNotify = new Set<string>();
  #busy: {
    readonly loans: object;
    readonly loads: object;
    readonly counts: ReadonlyMap<string, number>;
  } | null = null;

  constructor(parts: WorkerLendingParts) {
    this.#parts = parts;
  }

  /** Lent workers, and how many jobs they have; 1 for one without. */
  get busy(): ReadonlyMap<string, number> {
    const { loans } = this.#parts.state.now;
    const { loads } = this.#parts.calls;
    if (this.#busy?.loans !== loans || this.#busy.loads !== loads) {
      const counts = Object.entries(loans).map(([workerId, { shard }]) => {
        return [workerId, Math.max(1, this.#jobsIn(shard, workerId))] as const;
      });
      this.#busy = { loans, loads, counts: new Map(counts) };
    }
    return this.#busy.counts;
  }

  /** Workers that came back and have had no job since, and since when they have none. */
  takeReturned(): readonly (readonly [workerId: string, freeSinceAt: number])[] {
    if (this.#returns.length === 0) return NONE;
    const { calls, idleTimes } = this.#parts;
    const isKnown = ({ loan }: Return): boolean => !calls.hasNews(loan.shard) && !calls.hasNews(loan.from);
    const known = this.#returns.filter(isKnown);
    this.#returns = this.#returns.filter((one) => !isKnown(one));
    return known
      .filter(({ workerId, at }) => (idleTimes.freeSince(workerId) ?? Infinity) <= at)
      .map(({ workerId, loan }) => [workerId, this.#lentFreeSince(workerId, loan)]);
  }

  // Agents

  /** Whether a worker serves this object, so that its slots may be used. */
  isHere(workerId: string): boolean {
    return this.#parts.state.now.loans[workerId] === undefined;
  }

  /** What the agent of a host must know. */
  loansOf(hostId: string): HostLoans {
    const { workers } = this.#parts.facts.report;
    const ofHost = workers.filter((worker) => worker.hostId === hostId).map(({ workerId }) => workerId);
    return loansOf(this.#parts.state.now, ofHost);
  }

  /** In a turn: an agent that knows where its workers belong offers slots; workers that were to return have done so. */
  exchanged({ hostId, shards, slots }: ExchangeCall, now: number): void {
    if (shards === undefined) return;
    this.#ableHosts.add(hostId);
    const { loans } = this.#parts.state.now;
    const returning = slots.filter(({ workerId }) => loans[workerId]?.isReturning);
    if (returning.length === 0 || this.loansOf(hostId).number !== shards) return;
    for (const { workerId } of returning) this.#noteReturn(workerId, now);
    this.#set(returning.map(({ workerId }) => [workerId, undefined]));
  }

  /** The objects where it was have the ends of all its jobs by now, and are asked. */
  #noteReturn(workerId: string, now: number): void {
    const loan = this.#parts.state.now.loans[workerId];
    if (!loan) return;
    this.#returns = [...this.#returns, { workerId, loan, at: now }];
    for (const shard of [loan.shard, loan.from]) if (shard > 0) this.#parts.calls.noteNews(shard);
  }

  /** Workers of older agents would serve the first object only. */
  get canMoveAll(): boolean {
    const { workers } = this.#parts.facts.report;
    return workers.every(({ state, hostId }) => state !== "ready" || this.#ableHosts.has(hostId));
  }

  takeHostsToNotify(): readonly string[] {
    const hosts = [...this.#hostsToNotify];
    this.#hostsToNotify.clear();
    return hosts;
  }

  /** There are more objects than before. */
  notifyAllHosts(): void {
    for (const { hostId } of this.#parts.facts.report.workers) this.#hostsToNotify.add(hostId);
  }

  // Turns

  forgetGone(): void {
    const alive = new Set(this.#parts.facts.report.workers.map(({ workerId }) => workerId));
    const gone = Object.keys(this.#parts.state.now.loans).filter((workerId) => !alive.has(workerId));
    if (gone.length > 0) this.#set(gone.map((workerId) => [workerId, undefined]));
  }

  /** Moves workers as the loads ask for; `isClosed` names those that get no more jobs, which come back. */
  plan(isClosed: (workerId: string) => boolean, now: number): void {
    const { config, report } = this.#parts.facts;
    const { loans } = this.#parts.state.now;
    const ready = report.workers.filter((worker) => worker.state === "ready" && acceptsJobs(worker));
    const workers = ready
      .filter(({ workerId, hostId }) => this.#ableHosts.has(hostId) && !isClosed(workerId))
      .map((worker) => this.#sample(worker, now));
    const idleTimeoutMs = (config?.idleTimeoutSeconds ?? 0) * 1_000;
    const arrivesAt = ({ movedAt }: LoanWorker): number => movedAt + ON_ITS_WAY_MS;
    const idle = workers.filter(
      (one) =>
        loans[one.workerId]?.isReturning === false &&
        one.jobs === 0 &&
        (!one.isMoving || now < arrivesAt(one)),
    );
    this.#returnAt = earliest(
      idle.map((one) => Math.max(one.freeSinceAt + idleTimeoutMs, one.isMoving ? arrivesAt(one) : 0)),
    );
    const terms = { idleTimeoutMs, isScarce: report.contention !== undefined };
    const closed = ready.filter(
      ({ workerId }) => loans[workerId]?.isReturning === false && isClosed(workerId),
    );
    this.#move(planLoans(this.#demands(), workers, terms, now), workers, now);
    this.#move(
      closed.map(({ workerId }) => ({ workerId, to: 0 })),
      [],
      now,
    );
  }

  /** When a lent worker may have been idle for long enough; null while none is idle. */
  get returnAt(): number | null {
    return this.#returnAt;
  }

  #move(moves: readonly LoanMove[], workers: readonly LoanWorker[], now: number): void {
    if (moves.length === 0) return;
    const byId = new Map(workers.map((worker) => [worker.workerId, worker]));
    this.#set(
      moves.map(({ workerId, to }) => [workerId, this.#loanTo(workerId, to, byId.get(workerId), now)]),
    );
  }

  /** One that comes back is still lent, to the object that it comes from. */
  #loanTo(workerId: string, to: number, worker: LoanWorker | undefined, now: number): Loan | undefined {
    const before = this.#parts.state.now.loans[workerId];
    if (to === 0) return before && { ...before, isReturning: true };
    const freeSinceAt = worker?.jobs === 0 ? worker.freeSinceAt : now;
    return { shard: to, from: before?.shard ?? 0, isReturning: false, movedAt: now, freeSinceAt };
  }

  #sample({ workerId }: WorkerSnapshot, now: number): LoanWorker {
    const loan = this.#parts.state.now.loans[workerId];
    if (!loan) {
      const jobs = this.#jobsIn(0, workerId);
      const freeSinceAt = this.#parts.idleTimes.freeSince(workerId) ?? now;
      return { workerId, shard: 0, isMoving: false, jobs, movedAt: 0, freeSinceAt };
    }
    const { shard, from, isReturning, movedAt } = loan;
    const jobs = this.#jobsIn(shard, workerId);
    const isOnItsWay = this.#jobsIn(from, workerId) > 0 || (jobs === 0 && now < movedAt + ON_ITS_WAY_MS);
    const freeSinceAt = this.#lentFreeSince(workerId, loan);
    return { workerId, shard, isMoving: isReturning || isOnItsWay, jobs, movedAt, freeSinceAt };
  }

  #lentFreeSince(workerId: string, { shard, from, freeSinceAt }: Loan): number {
    const freedAt = [shard, from].map((other) => this.#loads.get(other)?.freedAtOf.get(workerId) ?? 0);
    const freedHere = this.#parts.idleTimes.freeSince(workerId) ?? 0;
    return Math.max(freeSinceAt, ...freedAt, from === 0 ? freedHere : 0);
  }

  #jobsIn(shard: number, workerId: string): number {
    if (shard === 0) return this.#parts.claims.workers.counts.get(workerId) ?? 0;
    return this.#loads.get(shard)?.jobsOf.get(workerId) ?? 0;
  }

  get #loads(): ReadonlyMap<number, KnownLoad> {
    return this.#parts.calls.loads;
  }

  #demands(): ShardDemand[] {
    const { claims, ledger } = this.#parts;
    const { queued } = ledger.counts;
    const own = {
      shard: 0,
      waiting: queued.normal + queued.low,
      running: claims.runningIn.normal + claims.runningIn.low,
      oldestQueuedAt: queued.normal + queued.low > 0 ? claims.waitingSince("normal") : null,
    };
    return [own, ...[...this.#loads].map(([shard, load]) => demandOf(shard, load))];
  }

  #set(changes: readonly (readonly [workerId: string, loan: Loan | undefined])[]): void {
    const loans = { ...this.#parts.state.now.loans };
    for (const [workerId, loan] of changes) {
      if (loan) loans[workerId] = loan;
      else delete loans[workerId];
    }
    this.#parts.state.change({ loans });
    const moved = new Set(changes.map(([workerId]) => workerId));
    for (const { workerId, hostId } of this.#parts.facts.report.workers)
      if (moved.has(workerId)) this.#hostsToNotify.add(hostId);
  }
}

function demandOf(shard: number, { waiting, running, oldestQueuedAt }: KnownLoad): ShardDemand {
  return {
    shard,
    waiting: waiting.normal + waiting.low,
    running: running.normal + running.low,
    oldestQueuedAt,
  };
}

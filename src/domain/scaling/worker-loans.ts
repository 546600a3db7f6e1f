/**
 * Which object of an endpoint each worker serves. A worker serves one at a time; the first object lends workers to the
 * others, and moves them as the load moves.
 */

/** A worker stays so long before it is moved away from an object that has work for it. */
export const LOAN_MIN_MS = 1_000;

export type ShardDemand = {
  readonly shard: number;
  /** Jobs that are queued, and jobs that workers have. */
  readonly waiting: number;
  readonly running: number;
  /** Since when the oldest queued job waits; null when none does. */
  readonly oldestQueuedAt: number | null;
};

/** A worker that takes jobs, and the object that it serves, or will as soon as it has moved there. */
export type LoanWorker = {
  readonly workerId: string;
  readonly shard: number;
  readonly isMoving: boolean;
  readonly jobs: number;
  /** When it came to its object. */
  readonly movedAt: number;
  /** When it came, or its last job ended. */
  readonly freeSinceAt: number;
};

export type LoanTerms = {
  readonly idleTimeoutMs: number;
  /** Others need what idle workers take: these go back at once. */
  readonly isScarce: boolean;
};

export type LoanMove = { readonly workerId: string; readonly to: number };

/**
 * The moves that the load asks for. Free workers go where jobs wait. Where none is free, an object that has more than
 * its share by load gives one to an object that has less. With fewer workers than objects with jobs, they go in turn to
 * where the oldest job waits. Workers without a job for the idle timeout return to the first object, which may give
 * them up.
 */
export function planLoans(
  demands: readonly ShardDemand[],
  workers: readonly LoanWorker[],
  terms: LoanTerms,
  now: number,
): LoanMove[] {
  const ledger = new LoanLedger(demands, workers, now);
  ledger.lendFree();
  ledger.levelShares();
  ledger.rotate();
  ledger.returnIdle(terms);
  return ledger.moves;
}

class LoanLedger {
  readonly moves: LoanMove[] = [];
  readonly #demands: readonly ShardDemand[];
  readonly #workers: readonly LoanWorker[];
  readonly #now: number;
  readonly #moved = new Set<string>();
  /** Workers by object, those on their way included. */
  readonly #count = new Map<number, number>();
  /** Jobs by object that wait for a worker which is not free or on its way already. */
  readonly #unserved = new Map<number, number>();

  constructor(demands: readonly ShardDemand[], workers: readonly LoanWorker[], now: number) {
    this.#demands = demands;
    this.#workers = workers;
    this.#now = now;
    for (const { shard, waiting } of demands) {
      const own = workers.filter((worker) => worker.shard === shard);
      this.#count.set(shard, own.length);
      const coming = own.filter(({ isMoving, jobs }) => isMoving || jobs === 0).length;
      this.#unserved.set(shard, Math.max(0, waiting - coming));
    }
  }

  /** Free workers of objects without waiting jobs go where most jobs wait for each worker. */
  lendFree(): void {
    const idle = this.#movable()
      .filter(({ jobs, shard }) => jobs === 0 && this.#demandOf(shard)?.waiting === 0)
      .toSorted((a, b) => a.freeSinceAt - b.freeSinceAt);
    for (const worker of idle) {
      const neediest = this.#needy().toSorted((a, b) => this.#loadOf(b) - this.#loadOf(a))[0];
      if (!neediest) return;
      this.#move(worker, neediest.shard);
    }
  }

  /** An object with more workers than its share gives to those below theirs. */
  levelShares(): void {
    for (const needy of this.#needy().toSorted((a, b) => this.#loadOf(b) - this.#loadOf(a))) {
      while (this.#countOf(needy.shard) < Math.max(1, Math.floor(this.#shareOf(needy)))) {
        const worker = this.#surplusFor(needy.shard);
        if (!worker) break;
        this.#move(worker, needy.shard);
      }
    }
  }

  /** An object without workers whose oldest job is older than that of another gets one of the other's. */
  rotate(): void {
    const without = this.#needy()
      .filter(({ shard }) => this.#countOf(shard) === 0)
      .toSorted((a, b) => ageOf(a) - ageOf(b));
    for (const needy of without) {
      const worker = this.#movable()
        .filter(({ shard }) => shard !== needy.shard && ageOf(this.#demandOf(shard)) > ageOf(needy))
        .filter((candidate) => this.#hasStayed(candidate))
        .toSorted(
          (a, b) => ageOf(this.#demandOf(b.shard)) - ageOf(this.#demandOf(a.shard)) || a.jobs - b.jobs,
        )[0];
      if (!worker) return;
      this.#move(worker, needy.shard);
    }
  }

  returnIdle({ idleTimeoutMs, isScarce }: LoanTerms): void {
    for (const worker of this.#movable()) {
      if (worker.shard === 0 || worker.jobs > 0 || this.#demandOf(worker.shard)?.waiting !== 0) continue;
      if (isScarce || this.#now >= worker.freeSinceAt + idleTimeoutMs) this.#move(worker, 0);
    }
  }

  #surplusFor(shard: number): LoanWorker | undefined {
    return this.#movable()
      .filter((worker) => worker.shard !== shard && this.#hasStayed(worker) && this.#isSurplus(worker.shard))
      .toSorted((a, b) => a.jobs - b.jobs || a.movedAt - b.movedAt)[0];
  }

  #isSurplus(shard: number): boolean {
    const demand = this.#demandOf(shard);
    return demand !== undefined && this.#countOf(shard) > Math.max(1, Math.ceil(this.#shareOf(demand)));
  }

  #hasStayed({ movedAt }: LoanWorker): boolean {
    return this.#now >= movedAt + LOAN_MIN_MS;
  }

  #movable(): LoanWorker[] {
    return this.#workers.filter(({ workerId, isMoving }) => !isMoving && !this.#moved.has(workerId));
  }

  #needy(): ShardDemand[] {
    return this.#demands.filter(({ shard }) => (this.#unserved.get(shard) ?? 0) > 0);
  }

  #demandOf(shard: number): ShardDemand | undefined {
    return this.#demands.find((demand) => demand.shard === shard);
  }

  #countOf(shard: number): number {
    return this.#count.get(shard) ?? 0;
  }

  /** Jobs for each worker, if it had one more. */
  #loadOf({ shard, waiting, running }: ShardDemand): number {
    return (waiting + running) / (this.#countOf(shard) + 1);
  }

  /** The workers that an object would have if all were spread by load. */
  #shareOf({ waiting, running }: ShardDemand): number {
    const total = this.#demands.reduce((sum, demand) => sum + demand.waiting + demand.running, 0);
    return total === 0 ? 0 : (this.#workers.length * (waiting + running)) / total;
  }

  #move(worker: LoanWorker, to: number): void {
    this.#moved.add(worker.workerId);
    this.moves.push({ workerId: worker.workerId, to });
    this.#count.set(worker.shard, this.#countOf(worker.shard) - 1);
    this.#count.set(to, this.#countOf(to) + 1);
    this.#unserved.set(to, Math.max(0, (this.#unserved.get(to) ?? 0) - 1));
  }
}

/** When the oldest job of an object was queued; later than any while none waits. */
function ageOf(demand: ShardDemand | undefined): number {
  return demand?.oldestQueuedAt ?? Number.POSITIVE_INFINITY;
}

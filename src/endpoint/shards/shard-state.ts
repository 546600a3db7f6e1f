/** What the first object of an endpoint stores of the others. */
import type { Fact } from "../facts/fact-store.ts";

/** A worker that serves another object than the first. */
export type Loan = {
  readonly shard: number;
  /** Where it was before. */
  readonly from: number;
  /** It was told to come back to the first object, and has not offered a slot there yet. */
  readonly isReturning: boolean;
  /** When it was told to move, and since when it had no job then; epoch ms. */
  readonly movedAt: number;
  readonly freeSinceAt: number;
};

export type ShardsState = {
  /** Objects that take new jobs: those with numbers below. */
  readonly active: number;
  /** Objects that there have ever been, or shall be. */
  readonly known: number;
  /** Those of them that have taken jobs. */
  readonly used: number;
  /** Objects that shall take new jobs, as soon as all of them are configured. */
  readonly wanted: number;
  readonly loans: Readonly<Record<string, Loan>>;
  /** Objects that had something to do when they last said so. */
  readonly busy: readonly number[];
};

const ONE_SHARD: ShardsState = { active: 1, known: 1, used: 1, wanted: 1, loans: {}, busy: [] };

/** What an agent must know of the objects of an endpoint, and a number that differs when that does. */
export type HostLoans = {
  readonly number: number;
  /** Objects that have taken jobs. */
  readonly count: number;
  /** Workers of the host that serve another object than the first. */
  readonly workers: readonly (readonly [workerId: string, shard: number])[];
};

/** For a host with these workers; number 0 where there is one object. */
export function loansOf({ used, loans }: ShardsState, workerIds: readonly string[]): HostLoans {
  if (used === 1) return { number: 0, count: 1, workers: [] };
  const workers = workerIds
    .flatMap((workerId) => {
      const loan = loans[workerId];
      return loan && !loan.isReturning ? [[workerId, loan.shard] as const] : [];
    })
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { number: hashOf(JSON.stringify([used, workers])), count: used, workers };
}

/** 31 bits, never 0: FNV-1a. */
function hashOf(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return (value >>> 1) | 1;
}

/** The stored state in memory. */
export class ShardStates {
  readonly #stored: Fact<ShardsState>;
  #state: ShardsState = ONE_SHARD;

  constructor(stored: Fact<ShardsState>) {
    this.#stored = stored;
  }

  recover(): void {
    this.#state = this.#stored.read() ?? ONE_SHARD;
  }

  get now(): ShardsState {
    return this.#state;
  }

  change(change: Partial<ShardsState>): void {
    this.#state = { ...this.#state, ...change };
    this.#stored.write(this.#state);
  }
}

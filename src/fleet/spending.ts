/**
 * What ended workers have cost, by endpoint and day (UTC), for as long as budgets look back. Rows of days are made of
 * rows of ended workers when these are forgotten, in the same commit, so each life counts once.
 */
import type { Period } from "../domain/costs/budget.ts";
import { costWithin, type WorkerLifetime } from "../domain/metrics/worker-usage.ts";
import type { ObjectDatabase } from "../durable/sql.ts";

/** A month and some days: a clock may be a little ahead when a period ends. */
const SPENDING_RETENTION_MS = 40 * 86_400_000;
const DAY_MS = 86_400_000;

export class Spending {
  readonly #database: ObjectDatabase;
  /** By endpoint, then by the beginning of the day. */
  readonly #days = new Map<string, Map<number, number>>();

  constructor(database: ObjectDatabase) {
    this.#database = database;
  }

  /** To be called once; `ended`: the workers of which there are rows. */
  load(ended: readonly WorkerLifetime[]): void {
    const rows = this.#database.all<{ endpointId: string; day: number; cost: number }>`
      SELECT endpoint_id AS endpointId, day, cost FROM spent_day`;
    for (const { endpointId, day, cost } of rows) this.#add(endpointId, day, cost);
    for (const life of ended) this.add(life);
  }

  add(life: WorkerLifetime): void {
    for (const [day, cost] of daysOf(life)) this.#add(life.endpointId, day, cost);
  }

  /** Of one endpoint or of all, in whole days. */
  within({ from, until }: Period, endpointId: string | null): number {
    const parts = endpointId === null ? this.#days.values() : [this.#days.get(endpointId) ?? new Map()];
    let sum = 0;
    for (const days of parts) for (const [day, cost] of days) if (day >= from && day < until) sum += cost;
    return sum;
  }

  /** The rows of these workers are being removed. */
  fold(lives: readonly WorkerLifetime[], now: number): void {
    for (const life of lives) {
      for (const [day, cost] of daysOf(life))
        this.#database.run`
          INSERT INTO spent_day (endpoint_id, day, cost) VALUES (${life.endpointId}, ${day}, ${cost})
          ON CONFLICT (endpoint_id, day) DO UPDATE SET cost = cost + excluded.cost`;
    }
    if (lives.length > 0) this.#forgetBefore(now - SPENDING_RETENTION_MS);
  }

  #forgetBefore(before: number): void {
    this.#database.run`DELETE FROM spent_day WHERE day < ${before}`;
    for (const [endpointId, days] of this.#days) {
      for (const day of days.keys()) if (day < before) days.delete(day);
      if (days.size === 0) this.#days.delete(endpointId);
    }
  }

  #add(endpointId: string, day: number, cost: number): void {
    const days = this.#days.get(endpointId) ?? new Map<number, number>();
    days.set(day, (days.get(day) ?? 0) + cost);
    this.#days.set(endpointId, days);
  }
}

function daysOf(life: WorkerLifetime): [day: number, cost: number][] {
  const first = Math.floor(life.from / DAY_MS) * DAY_MS;
  const count = life.perHour === 0 ? 0 : Math.ceil((life.to - first) / DAY_MS);
  return Array.from({ length: count }, (_, index) => {
    const day = first + index * DAY_MS;
    return [day, costWithin(life, day, day + DAY_MS)];
  });
}

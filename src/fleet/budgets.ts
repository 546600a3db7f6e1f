/**
 * The budgets of an account and its endpoints. Their states are looked at when workers, hosts or budgets have changed,
 * and when one is about to change by time alone.
 */
import {
  countedCost,
  nextChangeAt,
  periodAt,
  stateOfBudget,
  type Budget,
  type BudgetState,
  type Period,
} from "../domain/costs/budget.ts";
import type { BudgetNotice } from "../domain/jobs/queue-reason.ts";
import type { ObjectDatabase } from "../durable/sql.ts";
import type { FleetStore } from "./fleet-store.ts";
import type { BudgetView } from "./messages.ts";
import type { WorkerUsage } from "./worker-usage.ts";

type Status = { readonly state: BudgetState; readonly period: Period };

export class Budgets {
  readonly #database: ObjectDatabase;
  readonly #store: FleetStore;
  readonly #usage: WorkerUsage;
  /** By the id of the endpoint; that of the account by "". */
  readonly #budgets = new Map<string, Budget>();
  readonly #statuses = new Map<string, Status>();
  #seenChanges = -1;
  #nextAt = Infinity;

  constructor(database: ObjectDatabase, store: FleetStore, usage: WorkerUsage) {
    this.#database = database;
    this.#store = store;
    this.#usage = usage;
  }

  load(): void {
    const rows = this.#database.all<{ scope: string; json: string }>`SELECT scope, json FROM budget`;
    for (const { scope, json } of rows) this.#budgets.set(scope, JSON.parse(json) as Budget);
  }

  save(budget: Budget): void {
    const scope = scopeOf(budget.endpointId);
    this.#budgets.set(scope, budget);
    this.#database.run`
      INSERT INTO budget (scope, json) VALUES (${scope}, ${JSON.stringify(budget)})
      ON CONFLICT (scope) DO UPDATE SET json = excluded.json`;
    this.#seenChanges = -1;
  }

  remove(endpointId: string | null): boolean {
    const scope = scopeOf(endpointId);
    if (!this.#budgets.delete(scope)) return false;
    this.#database.run`DELETE FROM budget WHERE scope = ${scope}`;
    this.#seenChanges = -1;
    return true;
  }

  find(endpointId: string | null): Budget | undefined {
    return this.#budgets.get(scopeOf(endpointId));
  }

  /** What was spent in the present period counts no more. */
  reset(endpointId: string | null, now: number): boolean {
    const budget = this.find(endpointId);
    if (!budget) return false;
    const { from, cost } = this.#costOf(budget, now);
    this.save({ ...budget, forgiven: { from, cost } });
    return true;
  }

  views(now: number): BudgetView[] {
    return [...this.#budgets.values()].map((budget) => {
      const { from, until, cost } = this.#costOf(budget, now);
      const spent = countedCost(budget, from, cost);
      return { ...budget, spent, state: stateOfBudget(budget, spent), from, until };
    });
  }

  /** Whether the endpoint may get a worker. */
  allows(endpointId: string): boolean {
    return !["", endpointId].some((scope) => this.#statuses.get(scope)?.state === "reached");
  }

  /** What the endpoint and its users are told; its own budget before that of the account. */
  noticeFor(endpointId: string): BudgetNotice | undefined {
    const notices = [endpointId, ""].flatMap((scope) => this.#noticeOf(scope) ?? []);
    return notices.find(({ state }) => state === "reached") ?? notices[0];
  }

  /** Brings the states up to date; returns the endpoints that they concern and that may be told something new. */
  review(now: number): readonly string[] {
    if (this.#budgets.size === 0 && this.#statuses.size === 0) return [];
    const isQuiet = this.#seenChanges === this.#store.changes && now < this.#nextAt;
    if (isQuiet) return [];
    this.#seenChanges = this.#store.changes;
    this.#nextAt = Infinity;
    const changed = new Set([...this.#statuses.keys()].filter((scope) => !this.#budgets.has(scope)));
    for (const scope of changed) this.#statuses.delete(scope);
    for (const [scope, budget] of this.#budgets) if (this.#reviewOne(scope, budget, now)) changed.add(scope);
    if (changed.has("")) return [...this.#store.desiredWorkers.keys()];
    return [...changed];
  }

  /** When a state changes although nothing happens; null for never. */
  get nextAt(): number | null {
    return Number.isFinite(this.#nextAt) ? this.#nextAt : null;
  }

  #reviewOne(scope: string, budget: Budget, now: number): boolean {
    const { from, until, cost, perHour } = this.#costOf(budget, now);
    const counted = countedCost(budget, from, cost);
    const period = { from, until };
    const before = this.#noticeOf(scope);
    this.#statuses.set(scope, { state: stateOfBudget(budget, counted), period });
    const nextAt = nextChangeAt(budget, { counted, perHour }, period, now);
    this.#nextAt = Math.min(this.#nextAt, nextAt);
    return JSON.stringify(this.#noticeOf(scope)) !== JSON.stringify(before);
  }

  #noticeOf(scope: string): BudgetNotice | undefined {
    const [budget, status] = [this.#budgets.get(scope), this.#statuses.get(scope)];
    if (!budget || !status || status.state === "within") return undefined;
    const { limit, period } = budget;
    const of = scope === "" ? ("account" as const) : ("endpoint" as const);
    return { of, state: status.state, limit, period, until: status.period.until };
  }

  #costOf({ endpointId, period }: Budget, now: number) {
    const { from, until } = periodAt(period, now);
    return { from, until, ...this.#usage.costsWithin({ from, until }, endpointId, now) };
  }
}

function scopeOf(endpointId: string | null): string {
  return endpointId ?? "";
}

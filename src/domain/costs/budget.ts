/**
 * Budgets: what the workers of an endpoint, or of an account, may cost in a day or a month (UTC).
 *
 * G1  A budget that is reached stays so until its period ends, it is reset, or its limit is raised: costs only grow.
 * G2  It is reached at the first millisecond at which the costs are the limit, never before.
 */
export const BUDGET_PERIODS = ["day", "month"] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** Dollars of one period. */
export const BUDGET_LIMIT_MAX = 1_000_000_000;
export const BUDGET_WARN_PERCENT_DEFAULT = 80;

export type Budget = {
  /** Null: of the account. */
  readonly endpointId: string | null;
  readonly limit: number;
  readonly period: BudgetPeriod;
  /** The share of the limit from which on there is a warning; 100 for none. */
  readonly warnPercent: number;
  /** What does not count any more, of the period that begins at `from`. */
  readonly forgiven: { readonly from: number; readonly cost: number } | null;
};

export type BudgetState = "within" | "warning" | "reached";

/** A stretch of time, in epoch ms; `until` is the first moment after it. */
export type Period = { readonly from: number; readonly until: number };

export function periodAt(period: BudgetPeriod, now: number): Period {
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (period === "day") return { from: Date.UTC(year, month, day), until: Date.UTC(year, month, day + 1) };
  return { from: Date.UTC(year, month), until: Date.UTC(year, month + 1) };
}

/** What counts of the costs of the period that begins at `from`. */
export function countedCost({ forgiven }: Pick<Budget, "forgiven">, from: number, cost: number): number {
  return forgiven?.from === from ? Math.max(0, cost - forgiven.cost) : cost;
}

export function stateOfBudget({ limit, warnPercent }: Budget, counted: number): BudgetState {
  if (counted >= limit - DUST) return "reached";
  return warnPercent < 100 && counted >= (limit * warnPercent) / 100 - DUST ? "warning" : "within";
}

/** When the state changes next if costs go on at this rate; the end of the period at the latest. */
export function nextChangeAt(
  budget: Budget,
  costs: { readonly counted: number; readonly perHour: number },
  { until }: Period,
  now: number,
): number {
  const state = stateOfBudget(budget, costs.counted);
  if (state === "reached" || costs.perHour <= 0) return until;
  const isNextReached = state === "warning" || budget.warnPercent >= 100;
  const next = isNextReached ? budget.limit : (budget.limit * budget.warnPercent) / 100;
  const waitMs = ((next - costs.counted) / costs.perHour) * HOUR_MS;
  return Math.min(until, now + Math.max(1, Math.ceil(waitMs)));
}

const HOUR_MS = 3_600_000;
/** Below a millisecond at a hundredth of a cent per hour; sums of binary fractions differ by less. */
const DUST = 1e-12;

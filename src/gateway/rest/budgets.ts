/** Budgets: `/v1/budgets`, each by the id of its endpoint, that of the account as `account`. */
import * as z from "zod";
import { budgetBodySchema, budgetSchema, type RestBudget } from "../../contract/rest/rest-budget.ts";
import type { BudgetView } from "../../fleet/messages.ts";
import {
  budgetInputSchema,
  listBudgets,
  removeBudget,
  resetBudget,
  saveBudget,
} from "../../management/accounts/budgets.ts";
import { parseInput } from "../../management/input-schemas.ts";
import type { Route } from "../route.ts";
import type { RestApi } from "./context.ts";
import { FIND, restRoute, WRITE } from "./route.ts";

export const budgetRoutes: readonly Route<RestApi>[] = [
  restRoute({
    on: "GET /budgets",
    id: "listBudgets",
    summary: "List budgets",
    answer: z.array(budgetSchema),
    serve: async (request) => (await listBudgets(request)).map(toRestBudget),
  }),
  restRoute({
    on: "PUT /budgets/{budgetId}",
    id: "saveBudget",
    summary: "Set a budget",
    details:
      "`account`, or the id of an endpoint. When it is reached, no worker is started and no job begins.",
    body: budgetBodySchema,
    example: { limit: 100, period: "month" },
    answer: budgetSchema,
    errors: WRITE,
    serve: async (request, { params, body: { limit, period, warnPercent } }) => {
      const input = { ...scopeOf(params.budgetId), limit, period, warnPercent };
      return toRestBudget(await saveBudget(request, parseInput(budgetInputSchema, input)));
    },
  }),
  restRoute({
    on: "POST /budgets/{budgetId}/reset",
    id: "resetBudget",
    summary: "Reset a budget",
    details: "What was spent in the present period counts no more.",
    answer: budgetSchema,
    errors: FIND,
    serve: async (request, { params }) => toRestBudget(await resetBudget(request, scopeOf(params.budgetId))),
  }),
  restRoute({
    on: "DELETE /budgets/{budgetId}",
    id: "deleteBudget",
    summary: "Remove a budget",
    errors: FIND,
    serve: async (request, { params }) => await removeBudget(request, scopeOf(params.budgetId)),
  }),
];

const ACCOUNT = "account";

function scopeOf(budgetId: string): { readonly endpointId: string | null } {
  return { endpointId: budgetId === ACCOUNT ? null : budgetId };
}

function toRestBudget({
  endpointId,
  limit,
  period,
  warnPercent,
  spent,
  state,
  from,
  until,
}: BudgetView): RestBudget {
  return {
    id: endpointId ?? ACCOUNT,
    endpointId,
    limit,
    period,
    warnPercent,
    spent: Number(spent.toFixed(12)),
    state,
    from: new Date(from).toISOString(),
    until: new Date(until).toISOString(),
  };
}

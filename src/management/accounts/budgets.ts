/** Budgets of an account and its endpoints: kept by Fleet, which stops at them; D1 has their changes in its audit log. */
import * as z from "zod";
import { ServiceError } from "../../contract/errors.ts";
import { audit } from "../../db/audit-log.ts";
import {
  BUDGET_LIMIT_MAX,
  BUDGET_PERIODS,
  BUDGET_WARN_PERCENT_DEFAULT,
  type Budget,
} from "../../domain/costs/budget.ts";
import type { BudgetView } from "../../fleet/messages.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { requireEndpoint } from "../endpoints/endpoints.ts";
import { idSchema, oneOf, wholeNumber } from "../input-schemas.ts";
import { fleetObject } from "../objects.ts";

/** Null or absent: of the account. */
const endpointIdSchema = idSchema.nullish().transform((id) => id ?? null);

export const budgetScopeSchema = z.object({ endpointId: endpointIdSchema });
type BudgetScope = z.output<typeof budgetScopeSchema>;

export const budgetInputSchema = z.object({
  endpointId: endpointIdSchema,
  limit: z
    .number("must be a number of dollars")
    .min(0, "must not be negative")
    .max(BUDGET_LIMIT_MAX, `must be at most ${BUDGET_LIMIT_MAX}`),
  period: z.preprocess((value) => value ?? "month", oneOf(BUDGET_PERIODS)),
  warnPercent: z.preprocess((value) => value ?? BUDGET_WARN_PERCENT_DEFAULT, wholeNumber(1, 100)),
});

/** The budgets of the calling account, its own one first. */
export async function listBudgets({ env, principal }: RequestContext): Promise<readonly BudgetView[]> {
  const budgets = await fleetObject(env, principal.accountId).budgets();
  return budgets.toSorted((a, b) => ((a.endpointId ?? "") < (b.endpointId ?? "") ? -1 : 1));
}

/** Sets a budget; one that was there is replaced, and what was spent counts. */
export async function saveBudget(
  context: RequestContext,
  input: z.output<typeof budgetInputSchema>,
): Promise<BudgetView> {
  await record(context, input, ["budget"]);
  await fleetOf(context).saveBudget({ ...input, forgiven: null } satisfies Budget);
  return await requireBudget(context, input);
}

/** What was spent in the present period counts no more. */
export async function resetBudget(context: RequestContext, scope: BudgetScope): Promise<BudgetView> {
  await requireBudget(context, scope);
  await record(context, scope, ["budget"]);
  await fleetOf(context).resetBudget(scope.endpointId);
  return await requireBudget(context, scope);
}

export async function removeBudget(context: RequestContext, scope: BudgetScope): Promise<void> {
  await requireBudget(context, scope);
  await record(context, scope, ["budget"]);
  await fleetOf(context).removeBudget(scope.endpointId);
}

async function requireBudget(context: RequestContext, { endpointId }: BudgetScope): Promise<BudgetView> {
  const found = (await listBudgets(context)).find((budget) => budget.endpointId === endpointId);
  if (found) return found;
  const of = endpointId === null ? "the account" : `endpoint '${endpointId}'`;
  throw new ServiceError("budget_not_found", `endpointId: there is no budget of ${of}`);
}

/** Before Fleet is called: repeating the same operation is safe. */
async function record(
  context: RequestContext,
  { endpointId }: BudgetScope,
  fields: readonly string[],
): Promise<void> {
  const { accountId } = context.principal;
  const endpoint = endpointId === null ? null : await requireEndpoint(context, endpointId, "endpointId");
  const subject = endpoint
    ? ({ kind: "endpoint", id: endpoint.id, name: endpoint.name } as const)
    : ({ kind: "account", id: accountId, name: null } as const);
  await audit(context.db, authorOf(context), { ...subject, fields });
}

function fleetOf({ env, principal }: RequestContext) {
  return fleetObject(env, principal.accountId);
}

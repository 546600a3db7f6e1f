import type { BudgetView } from "../../fleet/messages.ts";
import {
  budgetInputSchema,
  budgetScopeSchema,
  listBudgets,
  removeBudget,
  resetBudget,
  saveBudget,
} from "../../management/accounts/budgets.ts";
import { withInput, withoutArguments } from "../context.ts";

export const budgetSdl = /* GraphQL */ `
  type Mutation {
    "Sets what workers of an endpoint, or of the whole account, may cost; a budget that was there is replaced."
    budgetSave(input: BudgetInput): Budget
    "What was spent in the present period counts no more."
    budgetReset(input: BudgetScopeInput): Budget
    "Nothing limits the costs of the endpoint, or of the account, any more."
    budgetRemove(input: BudgetScopeInput): Void
  }

  type User {
    budgets: [Budget]
  }

  input BudgetInput {
    "Absent: the budget of the account."
    endpointId: String
    "Dollars of one period."
    limit: Float
    "day or month (the default), in UTC."
    period: String
    "The share of the limit from which on health warns: 1 to 100, 80 by default; 100 for no warning."
    warnPercent: Int
  }
  input BudgetScopeInput {
    "Absent: the budget of the account."
    endpointId: String
  }
  type Budget {
    "Null for the budget of the account."
    endpointId: String
    limit: Float
    period: String
    warnPercent: Int
    "Dollars in the present period, up to now."
    spent: Float
    "within, warning, or reached: no worker is started and no job begins; running jobs end normally."
    state: String
    "Of the present period."
    from: DateTime
    until: DateTime
  }
`;

export const budgetResolvers = {
  Mutation: {
    budgetSave: withInput(budgetInputSchema, saveBudget),
    budgetReset: withInput(budgetScopeSchema, resetBudget),
    budgetRemove: withInput(budgetScopeSchema, removeBudget),
  },

  User: { budgets: withoutArguments(listBudgets) },

  Budget: { spent: ({ spent }: BudgetView): number => Number(spent.toFixed(12)) },
};

/** Budgets as REST v1 spells them. */
import * as z from "zod";

const periodSchema = z.enum(["day", "month"], "must be day or month");

/** Body of `PUT /v1/budgets/{id}`. */
export const budgetBodySchema = z
  .object({
    limit: z.number("must be a number of dollars").meta({ description: "Dollars of one period." }),
    period: periodSchema.nullish().meta({ description: "In UTC; `month` by default." }),
    warnPercent: z
      .number("must be a number")
      .nullish()
      .meta({ description: "The share of the limit from which on `health` warns; 80 by default." }),
  })
  .meta({ id: "BudgetInput" });

export const budgetSchema = z
  .object({
    id: z.string().meta({ description: "`account`, or the id of the endpoint." }),
    endpointId: z.string().nullable(),
    limit: z.number(),
    period: periodSchema,
    warnPercent: z.number(),
    spent: z.number().meta({ description: "Dollars in the present period, up to now." }),
    state: z.enum(["within", "warning", "reached"]),
    from: z.string(),
    until: z.string().meta({ description: "When the present period ends." }),
  })
  .meta({ id: "Budget" });
export type RestBudget = z.infer<typeof budgetSchema>;

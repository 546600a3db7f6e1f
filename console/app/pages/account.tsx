import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { query } from "../api/graphql.ts";
import { REMOVE_BUDGET, SAVE_BUDGET, SAVE_PUBLIC_KEYS, type AccountSettings } from "../api/operations.ts";
import { accountSettingsQuery } from "../api/queries.ts";
import { Ago, Card, Failed, Loading, Title } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Form, useFields } from "../parts/fields.tsx";
import { dollars } from "../parts/format.ts";

type Found = NonNullable<AccountSettings["myself"]>;
type Budget = NonNullable<NonNullable<Found["budgets"]>[number]>;

export function AccountPage() {
  const { data, error } = useQuery(accountSettingsQuery);
  if (!data) return error ? <Failed title="Settings" error={error} /> : <Loading />;
  const budget = data.budgets?.find((one) => one && one.endpointId === null);
  return (
    <>
      <Title>Settings</Title>
      <p className="-mt-3 mb-4 text-sm break-all text-quiet">
        Account <code>{data.id}</code>
        {data.email ? `, ${data.email}` : ""}
      </p>
      <div className="max-w-2xl space-y-4">
        <Card>
          <h2 className="font-semibold">Budget of the account</h2>
          {budget ? (
            <Spent budget={budget} />
          ) : (
            <p className="text-sm text-quiet">Nothing limits what workers cost.</p>
          )}
          <BudgetForm budget={budget ?? undefined} />
        </Card>
        <Card>
          <h2 className="font-semibold">SSH keys</h2>
          <p className="text-sm text-quiet">Pods that start from now on let their holders in.</p>
          <PublicKeys pubKey={data.pubKey ?? ""} />
        </Card>
      </div>
    </>
  );
}

function Spent({ budget }: { readonly budget: Budget }) {
  const cache = useQueryClient();
  const { spent, limit, period, until, state } = budget;
  return (
    <>
      <p className="mb-3 text-sm text-quiet">
        {dollars(spent)} of {dollars(limit)} were spent this {period}, which ends <Ago at={until} />.
        {state === "reached" ? " No worker is started and no job begins." : ""}
      </p>
      <ConfirmButton
        label="Remove the budget"
        title="Remove the budget?"
        explanation="Nothing limits the costs of the account any more."
        action={async () => {
          await query(REMOVE_BUDGET, {});
          await cache.invalidateQueries(accountSettingsQuery);
        }}
      />
    </>
  );
}

function BudgetForm({ budget }: { readonly budget: Budget | undefined }) {
  const cache = useQueryClient();
  const { values, field, choice } = useFields({
    limit: String(budget?.limit ?? ""),
    period: budget?.period ?? "month",
    warnPercent: String(budget?.warnPercent ?? 80),
  });
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: () =>
      query(SAVE_BUDGET, {
        limit: Number(values.limit),
        period: values.period,
        warnPercent: Number(values.warnPercent),
      }),
    onSuccess: () => cache.invalidateQueries(accountSettingsQuery),
  });
  return (
    <Form
      label="Save the budget"
      isPending={isPending}
      error={error}
      onSubmit={mutate}
      notice={isSuccess ? "Saved." : undefined}
    >
      {field("limit", "Dollars", { type: "number", min: 0, step: "any", required: true })}
      {choice("period", "Per", PERIODS)}
      {field("warnPercent", "Warn from this percentage on", {
        type: "number",
        min: 1,
        max: 100,
        required: true,
      })}
    </Form>
  );
}

const PERIODS = [
  { value: "month", title: "month" },
  { value: "day", title: "day" },
];

function PublicKeys({ pubKey }: { readonly pubKey: string }) {
  const cache = useQueryClient();
  const { values, area } = useFields({ pubKey });
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: () => query(SAVE_PUBLIC_KEYS, values),
    onSuccess: () => cache.invalidateQueries(accountSettingsQuery),
  });
  return (
    <Form
      label="Save the keys"
      isPending={isPending}
      error={error}
      onSubmit={mutate}
      notice={isSuccess ? "Saved." : undefined}
    >
      {area("pubKey", "Public keys", "One per line, as in authorized_keys.")}
    </Form>
  );
}

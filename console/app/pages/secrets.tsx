import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { query } from "../api/graphql.ts";
import { CREATE_SECRET, DELETE_SECRET, type Secrets } from "../api/operations.ts";
import { secretsQuery } from "../api/queries.ts";
import { Ago, Empty } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Form, useFields } from "../parts/fields.tsx";
import { ListPage } from "../parts/list-page.tsx";
import type { Column } from "../parts/table.tsx";

type Secret = NonNullable<Secrets["myself"]>["secrets"][number];

export function SecretsPage() {
  const { data, error } = useQuery(secretsQuery);
  return (
    <ListPage
      title="Secrets"
      data={data}
      error={error}
      columns={COLUMNS}
      keyOf={({ id }) => id}
      empty={
        <Empty title="No secret yet">
          <p>
            A secret is stored encrypted and never shown again. A variable of an endpoint refers to it as{" "}
            <code>{"{{ RUNPOD_SECRET_name }}"}</code>.
          </p>
        </Empty>
      }
    >
      <NewSecret />
    </ListPage>
  );
}

function NewSecret() {
  const cache = useQueryClient();
  const { values, field, reset } = useFields({ name: "", value: "", description: "" });
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => query(CREATE_SECRET, values),
    onSuccess: async () => {
      reset();
      await cache.invalidateQueries(secretsQuery);
    },
  });
  return (
    <Form title="New secret" label="Create" isPending={isPending} error={error} onSubmit={mutate}>
      {field("name", "Name", { required: true, spellCheck: false, autoComplete: "off" })}
      {field("value", "Value", { required: true, type: "password", autoComplete: "new-password" })}
      {field("description", "What it is for")}
    </Form>
  );
}

const COLUMNS: readonly Column<Secret>[] = [
  { title: "Name", width: "minmax(7rem,2fr)", cell: ({ name }) => <code>{name}</code> },
  {
    title: "What it is for",
    width: "minmax(6rem,3fr)",
    isMinor: true,
    cell: ({ description }) => description ?? "",
  },
  { title: "Changed", width: "6.5rem", isMinor: true, cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
  { title: "Delete", width: "6rem", cell: ({ id, name }) => <Deletion id={id} name={name} /> },
];

function Deletion({ id, name }: { readonly id: string; readonly name: string }) {
  const cache = useQueryClient();
  return (
    <ConfirmButton
      label="Delete"
      title={`Delete ${name}?`}
      explanation="Workers that need it do not start any more. This cannot be undone."
      action={async () => {
        await query(DELETE_SECRET, { id });
        await cache.invalidateQueries(secretsQuery);
      }}
    />
  );
}

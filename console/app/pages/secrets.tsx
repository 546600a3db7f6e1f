import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { query } from "../api/graphql.ts";
import { CREATE_SECRET, DELETE_SECRET, type Secrets } from "../api/operations.ts";
import { secretsQuery } from "../api/queries.ts";
import { Ago, Button, Empty, Loading, Problem, Title } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { useFields } from "../parts/fields.tsx";
import { Table, type Column } from "../parts/table.tsx";

type Secret = NonNullable<Secrets["myself"]>["secrets"][number];

export function SecretsPage() {
  const { data, error } = useQuery(secretsQuery);
  return (
    <>
      <Title>Secrets</Title>
      <Problem error={error} />
      {!data && !error ? <Loading /> : null}
      {data && data.length === 0 ? (
        <Empty title="No secret yet">
          <p>
            A secret is stored encrypted and never shown again. A variable of an endpoint refers to it as{" "}
            <code>{"{{ RUNPOD_SECRET_name }}"}</code>.
          </p>
        </Empty>
      ) : null}
      {data && data.length > 0 ? (
        <Table label="Secrets" rows={data} columns={COLUMNS} keyOf={({ id }) => id} />
      ) : null}
      <NewSecret />
    </>
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
    <form
      className="mt-6 max-w-xl space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <h2 className="text-lg font-semibold">New secret</h2>
      {field("name", "Name", { required: true, spellCheck: false, autoComplete: "off" })}
      {field("value", "Value", { required: true, type: "password", autoComplete: "new-password" })}
      {field("description", "What it is for")}
      <Button type="submit" tone="accent" disabled={isPending}>
        Create
      </Button>
      <Problem error={error} />
    </form>
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
  const { mutate, isPending } = useMutation({
    mutationFn: () => query(DELETE_SECRET, { id }),
    onSettled: () => cache.invalidateQueries(secretsQuery),
  });
  return (
    <ConfirmButton
      label="Delete"
      title={`Delete ${name}?`}
      explanation="Workers that need it do not start any more. This cannot be undone."
      isPending={isPending}
      onConfirm={() => mutate()}
    />
  );
}

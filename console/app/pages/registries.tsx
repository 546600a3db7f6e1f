import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { query } from "../api/graphql.ts";
import { DELETE_REGISTRY, SAVE_REGISTRY, type Registries } from "../api/operations.ts";
import { registriesQuery } from "../api/queries.ts";
import { Empty } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Form, useFields } from "../parts/fields.tsx";
import { ListPage } from "../parts/list-page.tsx";
import type { Column } from "../parts/table.tsx";

type Registry = NonNullable<NonNullable<NonNullable<Registries["myself"]>["containerRegistryCreds"]>[number]>;

export function RegistriesPage() {
  const { data, error } = useQuery(registriesQuery);
  return (
    <ListPage
      title="Registries"
      data={data}
      error={error}
      columns={COLUMNS}
      keyOf={({ id }) => id ?? ""}
      empty={
        <Empty title="No login yet">
          <p>
            With a login, hosts pull images from a private registry. It is stored encrypted and never shown
            again; a template names the one that its image needs.
          </p>
        </Empty>
      }
    >
      <NewLogin />
    </ListPage>
  );
}

function NewLogin() {
  const cache = useQueryClient();
  const { values, field, reset } = useFields({ name: "", username: "", password: "" });
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => query(SAVE_REGISTRY, values),
    onSuccess: async () => {
      reset();
      await cache.invalidateQueries(registriesQuery);
    },
  });
  return (
    <Form title="New login" label="Create" isPending={isPending} error={error} onSubmit={mutate}>
      {field("name", "Name", { required: true, maxLength: 191 })}
      {field("username", "User name", { required: true, spellCheck: false, autoComplete: "off" })}
      {field("password", "Password or token", {
        required: true,
        type: "password",
        autoComplete: "new-password",
      })}
    </Form>
  );
}

const COLUMNS: readonly Column<Registry>[] = [
  { title: "Name", width: "minmax(7rem,2fr)", cell: ({ name }) => name },
  {
    title: "Id",
    width: "minmax(7rem,2fr)",
    isMinor: true,
    cell: ({ id }) => <code className="text-xs">{id}</code>,
  },
  { title: "Delete", width: "6rem", cell: (registry) => <Deletion registry={registry} /> },
];

function Deletion({ registry: { id, name } }: { readonly registry: Registry }) {
  const cache = useQueryClient();
  return (
    <ConfirmButton
      label="Delete"
      title={`Delete ${name}?`}
      explanation="Templates must not name it any more. This cannot be undone."
      action={async () => {
        await query(DELETE_REGISTRY, { id });
        await cache.invalidateQueries(registriesQuery);
      }}
    />
  );
}

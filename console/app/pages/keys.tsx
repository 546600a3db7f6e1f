import { useMutation, useQueryClient } from "@tanstack/react-query";
import { query } from "../api/graphql.ts";
import { CREATE_KEY, REVOKE_KEY } from "../api/operations.ts";
import { accessQuery } from "../api/queries.ts";
import { Copyable } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Form, useFields } from "../parts/fields.tsx";

const LEVELS = [
  { value: "ALL", title: "everything" },
  { value: "READ_ONLY", title: "look at everything, change nothing" },
];

/** The token of a new key is shown this once. */
export function NewKey() {
  const cache = useQueryClient();
  const { values, field, choice } = useFields({ name: "", level: "ALL" });
  const { mutate, data, isPending, error } = useMutation({
    mutationFn: () =>
      query(CREATE_KEY, { name: values.name, level: values.level === "ALL" ? "ALL" : "READ_ONLY" }),
    onSuccess: () => cache.invalidateQueries(accessQuery),
  });
  const token = data?.createApiKey?.token;
  return (
    <>
      <Form title="New API key" label="Create" isPending={isPending} error={error} onSubmit={mutate}>
        {field("name", "What it is for", { required: true, maxLength: 191 })}
        {choice("level", "What it may do", LEVELS)}
      </Form>
      {token ? (
        <div role="status" className="mt-4 max-w-xl space-y-2">
          <p className="text-sm">Copy it now. It is not stored, and cannot be shown again.</p>
          <Copyable text={token} label="New API key" />
        </div>
      ) : null}
    </>
  );
}

export function RevokeKey({ id, name }: { readonly id: string; readonly name: string }) {
  const cache = useQueryClient();
  return (
    <ConfirmButton
      label="Revoke"
      title={`Revoke ${name}?`}
      explanation="Programs and sign-ins that use it lose access within 30 seconds, and hosts that joined through it are removed. This cannot be undone."
      action={async () => {
        await query(REVOKE_KEY, { id });
        await cache.invalidateQueries(accessQuery);
      }}
    />
  );
}

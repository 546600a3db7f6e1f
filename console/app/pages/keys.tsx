import { useMutation, useQueryClient } from "@tanstack/react-query";
import { query } from "../api/graphql.ts";
import { CREATE_KEY, REVOKE_KEY } from "../api/operations.ts";
import { accessQuery } from "../api/queries.ts";
import { Button, Copyable, inputClass, Problem } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Field, useFields } from "../parts/fields.tsx";

/** The token of a new key is shown this once. */
export function NewKey() {
  const cache = useQueryClient();
  const { values, set, field } = useFields({ name: "", level: "ALL" });
  const { mutate, data, isPending, error } = useMutation({
    mutationFn: () =>
      query(CREATE_KEY, { name: values.name, level: values.level === "ALL" ? "ALL" : "READ_ONLY" }),
    onSuccess: () => cache.invalidateQueries(accessQuery),
  });
  const token = data?.createApiKey?.token;
  return (
    <form
      className="mt-4 max-w-xl space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <h3 className="font-semibold">New API key</h3>
      {field("name", "What it is for", { required: true, maxLength: 191 })}
      <Field name="level" label="What it may do">
        <select
          id="level"
          className={inputClass}
          value={values.level}
          onChange={(event) => set("level", event.target.value)}
        >
          <option value="ALL">everything</option>
          <option value="READ_ONLY">look at everything, change nothing</option>
        </select>
      </Field>
      <Button type="submit" tone="accent" disabled={isPending}>
        Create
      </Button>
      <Problem error={error} />
      {token ? (
        <div role="status" className="space-y-2">
          <p className="text-sm">Copy it now. It is not stored, and cannot be shown again.</p>
          <Copyable text={token} label="New API key" />
        </div>
      ) : null}
    </form>
  );
}

export function RevokeKey({ id, name }: { readonly id: string; readonly name: string }) {
  const cache = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: () => query(REVOKE_KEY, { id }),
    onSettled: () => cache.invalidateQueries(accessQuery),
  });
  return (
    <ConfirmButton
      label="Revoke"
      title={`Revoke ${name}?`}
      explanation="Programs and sign-ins that use it lose access within 30 seconds, and hosts that joined through it are removed. This cannot be undone."
      isPending={isPending}
      onConfirm={() => mutate()}
    />
  );
}

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { query } from "../api/graphql.ts";
import { END_SIGN_IN, type Access } from "../api/operations.ts";
import { accessQuery } from "../api/queries.ts";
import { Ago, Button, Loading, Problem, Title } from "../parts/basics.tsx";
import { browserName } from "../parts/format.ts";
import { NewKey, RevokeKey } from "./keys.tsx";
import { Table, type Column } from "../parts/table.tsx";

type SignIn = NonNullable<Access["signIns"]>[number];
type Key = NonNullable<NonNullable<Access["apiKeys"]>[number]>;

export function AccessPage() {
  const { data, error } = useQuery(accessQuery);
  const keys = (data?.apiKeys ?? []).flatMap((key) => key ?? []);
  return (
    <>
      <Title>Keys and sign-ins</Title>
      <Problem error={error} />
      {!data && !error ? <Loading /> : null}
      {data ? (
        <>
          <h2 className="mb-2 text-lg font-semibold">Browsers that are signed in</h2>
          <Table label="Sign-ins" rows={data.signIns ?? []} columns={SIGN_INS} keyOf={({ id }) => id} />
          <h2 className="mt-6 mb-2 text-lg font-semibold">API keys</h2>
          <Table label="API keys" rows={keys} columns={KEYS} keyOf={({ id }) => id ?? ""} />
          <NewKey />
        </>
      ) : null}
    </>
  );
}

const SIGN_INS: readonly Column<SignIn>[] = [
  {
    title: "Browser",
    width: "minmax(8rem,3fr)",
    cell: ({ client, isLink }) =>
      isLink ? "a link that nobody has followed" : <span title={client}>{browserName(client)}</span>,
  },
  { title: "Since", width: "6.5rem", cell: ({ createdAt }) => <Ago at={createdAt} /> },
  { title: "Ends", width: "6.5rem", isMinor: true, cell: ({ expiresAt }) => <Ago at={expiresAt} /> },
  { title: "End", width: "6rem", cell: (row) => (row.isCurrent ? "this one" : <End id={row.id} />) },
];

function End({ id }: { readonly id: string }) {
  const cache = useQueryClient();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => query(END_SIGN_IN, { id }),
    onSettled: () => cache.invalidateQueries(accessQuery),
  });
  return (
    <Button
      tone="danger"
      disabled={isPending}
      title={error?.message ?? "Ends it everywhere within 30 seconds."}
      onClick={() => mutate()}
    >
      End
    </Button>
  );
}

const KEYS: readonly Column<Key>[] = [
  { title: "Name", width: "minmax(7rem,2fr)", cell: ({ name }) => name },
  {
    title: "Begins with",
    width: "7rem",
    isMinor: true,
    cell: ({ hint }) => <code className="text-xs">{hint}</code>,
  },
  {
    title: "Level",
    width: "7rem",
    isMinor: true,
    cell: ({ level }) => (level ?? "").toLowerCase().replaceAll("_", " "),
  },
  { title: "Used", width: "6.5rem", isMinor: true, cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} /> },
  { title: "State", width: "6rem", cell: (key) => stateOf(key) },
  {
    title: "Revoke",
    width: "6rem",
    // The key of the environment begins with nothing that is known, and ends elsewhere.
    cell: ({ id, name, hint, revokedAt }) =>
      revokedAt || !hint ? "" : <RevokeKey id={id ?? ""} name={name ?? ""} />,
  },
];

function stateOf({ revokedAt, expiresAt, isCurrent }: Key) {
  if (revokedAt) return "revoked";
  if (expiresAt) return <Ago at={expiresAt} />;
  return isCurrent ? "yours" : "in force";
}

import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import type { Audit } from "../api/operations.ts";
import { auditQuery } from "../api/queries.ts";
import { Ago, Empty, Loading, Problem, Title } from "../parts/basics.tsx";
import { Table, type Column } from "../parts/table.tsx";

type Entry = NonNullable<NonNullable<Audit["myself"]>["auditLog"]>[number];

export function AuditPage() {
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(auditQuery);
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const rows = data?.pages.flat() ?? [];
  return (
    <>
      <Title>Audit log</Title>
      <Problem error={error} />
      {!data && !error ? <Loading /> : null}
      {data && rows.length === 0 ? <Empty title="Nothing was changed yet" /> : null}
      {rows.length > 0 ? (
        <Table label="Changes" rows={rows} columns={COLUMNS} keyOf={({ id }) => id} onEnd={onEnd} />
      ) : null}
    </>
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  { title: "When", width: "6.5rem", cell: ({ at }) => <Ago at={at} /> },
  {
    title: "Operation",
    width: "minmax(8rem,1.5fr)",
    cell: ({ operation }) => <code className="text-xs">{operation}</code>,
  },
  {
    title: "Of",
    width: "minmax(7rem,2fr)",
    cell: ({ subjectKind, subjectName, subjectId }) =>
      `${subjectKind.replaceAll("_", " ")} ${subjectName ?? subjectId}`,
  },
  { title: "Key", width: "minmax(5rem,1fr)", isMinor: true, cell: ({ apiKeyName }) => apiKeyName ?? "" },
  { title: "Fields", width: "minmax(6rem,2fr)", isMinor: true, cell: ({ fields }) => fields.join(", ") },
];

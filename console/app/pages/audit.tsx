import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import type { Audit } from "../api/operations.ts";
import { auditQuery } from "../api/queries.ts";
import { Ago, Empty } from "../parts/basics.tsx";
import { ListPage } from "../parts/list-page.tsx";
import type { Column } from "../parts/table.tsx";

type Entry = NonNullable<NonNullable<Audit["myself"]>["auditLog"]>[number];

export function AuditPage() {
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(auditQuery);
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <ListPage
      title="Audit log"
      data={data?.pages.flat()}
      error={error}
      columns={COLUMNS}
      keyOf={({ id }) => id}
      onEnd={onEnd}
      empty={<Empty title="Nothing was changed yet" />}
    />
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

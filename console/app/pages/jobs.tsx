import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback } from "react";
import type { RequestRow } from "../../../src/contract/job.ts";
import { WIRE_STATUSES } from "../../../src/contract/job-status.ts";
import { jobsQuery } from "../api/queries.ts";
import { Ago, Empty, Loading, Problem, Status } from "../parts/basics.tsx";
import { duration, number, readError } from "../parts/format.ts";
import { Table, type Column } from "../parts/table.tsx";

const route = getRouteApi("/signed-in/endpoints/$endpointId/");

export function JobsTab() {
  const { endpointId } = route.useParams();
  const { status } = route.useSearch();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    jobsQuery(endpointId, status),
  );
  const rows = data?.pages.flatMap(({ requests }) => requests) ?? [];
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <>
      <nav aria-label="Jobs by status" className="mb-3 flex flex-wrap gap-1">
        {[undefined, ...WIRE_STATUSES].map((one) => (
          <Link
            key={one ?? "all"}
            to="/endpoints/$endpointId"
            params={{ endpointId }}
            search={one ? { status: one } : {}}
            activeOptions={{ exact: true, includeSearch: true }}
            className="rounded-full border border-line px-3 py-0.5 text-sm text-quiet hover:bg-raised aria-[current=page]:border-accent aria-[current=page]:text-ink"
          >
            {one ? one.replaceAll("_", " ").toLowerCase() : "all"}
          </Link>
        ))}
      </nav>
      <Problem error={error} />
      {data ? null : <Loading />}
      {data && rows.length === 0 ? (
        <NoJobs endpointId={endpointId} isFiltered={status !== undefined} />
      ) : null}
      {rows.length > 0 ? (
        <>
          <p className="mb-2 text-sm text-quiet">
            {number(data?.pages[0]?.total)} stored, the newest first. Results are stored for a while after
            they are there.
          </p>
          <Table
            label="Jobs"
            rows={rows}
            columns={columnsOf(endpointId)}
            keyOf={({ id }) => id}
            onEnd={onEnd}
          />
        </>
      ) : null}
    </>
  );
}

function NoJobs({ endpointId, isFiltered }: { readonly endpointId: string; readonly isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No job has this status" />;
  return (
    <Empty title="No job is stored">
      <p>
        <Link to="/endpoints/$endpointId/run" params={{ endpointId }} className="text-accent underline">
          Run one here
        </Link>
        , or send it with a client. Results are removed after a while.
      </p>
    </Empty>
  );
}

function columnsOf(endpointId: string): readonly Column<RequestRow>[] {
  return [
    { title: "Status", width: "7rem", cell: ({ status }) => <Status of={status} /> },
    {
      title: "Job",
      width: "minmax(6rem,2fr)",
      cell: ({ id }) => (
        <Link
          to="/endpoints/$endpointId/jobs/$jobId"
          params={{ endpointId, jobId: id }}
          className="font-mono text-xs text-accent hover:underline"
        >
          {id}
        </Link>
      ),
    },
    { title: "Submitted", width: "6rem", cell: ({ createdAt }) => <Ago at={createdAt} /> },
    { title: "Waited", width: "5.5rem", isMinor: true, cell: ({ delayTime }) => duration(delayTime) },
    { title: "Ran", width: "5.5rem", isMinor: true, cell: ({ executionTime }) => duration(executionTime) },
    {
      title: "Error",
      width: "minmax(6rem,3fr)",
      isMinor: true,
      cell: ({ error }) => (error ? readError(error).message : ""),
    },
  ];
}

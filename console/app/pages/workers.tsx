import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { endpointQuery } from "../api/queries.ts";
import type { Endpoint } from "../api/operations.ts";
import { Ago, Empty, Loading, Problem } from "../parts/basics.tsx";
import { Table, type Column } from "../parts/table.tsx";

const route = getRouteApi("/signed-in/endpoints/$endpointId/workers");

type Found = NonNullable<NonNullable<Endpoint["myself"]>["endpoint"]>;
type Worker = NonNullable<NonNullable<Found["pods"]>[number]>;

export function WorkersTab() {
  const { endpointId } = route.useParams();
  const { data, error } = useQuery(endpointQuery(endpointId));
  if (!data) return error ? <Problem error={error} /> : <Loading />;
  const workers = (data.pods ?? []).flatMap((worker) => worker ?? []);
  const { rollout, workersMin, workersMax } = data;
  return (
    <>
      <p className="mb-3 text-sm text-quiet">
        {workersMin} to {workersMax} workers.{" "}
        {rollout?.inProgress
          ? `${rollout.workersOnLatest} of ${rollout.workersTotal} have the newest version (${rollout.percentOnLatest} %). ${rollout.reason ?? ""}`
          : "All have the newest version."}
      </p>
      {workers.length === 0 ? (
        <Empty title="No worker">
          <p>
            Workers start with the first job.{" "}
            <Link to="/endpoints/$endpointId/run" params={{ endpointId }} className="text-accent underline">
              Run one
            </Link>
            .
          </p>
        </Empty>
      ) : (
        <Table label="Workers" rows={workers} columns={columnsOf(endpointId)} keyOf={({ id }) => id} />
      )}
    </>
  );
}

function columnsOf(endpointId: string): readonly Column<Worker>[] {
  return [
    { title: "Worker", width: "minmax(7rem,2fr)", cell: ({ id }) => <code className="text-xs">{id}</code> },
    {
      title: "State",
      width: "7rem",
      cell: ({ latestTelemetry, desiredStatus }) => (latestTelemetry?.state ?? desiredStatus).toLowerCase(),
    },
    { title: "Version", width: "5rem", isMinor: true, cell: ({ version }) => version },
    {
      title: "Host",
      width: "minmax(6rem,1fr)",
      isMinor: true,
      cell: ({ machineId }) => <code className="text-xs">{machineId}</code>,
    },
    {
      title: "Started",
      width: "7rem",
      isMinor: true,
      cell: ({ lastStartedAt }) => <Ago at={lastStartedAt} />,
    },
    {
      title: "Logs",
      width: "4rem",
      cell: ({ id }) => (
        <Link
          to="/endpoints/$endpointId/logs"
          params={{ endpointId }}
          search={{ workerId: id }}
          className="text-accent underline"
        >
          Logs
        </Link>
      ),
    },
  ];
}

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Usage } from "../api/operations.ts";
import { usageQuery } from "../api/queries.ts";
import { Empty, Figure, Loading, Problem, Title } from "../parts/basics.tsx";
import { Chart } from "../parts/chart.tsx";
import { dollars, duration, number } from "../parts/format.ts";
import { Table, type Column } from "../parts/table.tsx";

const route = getRouteApi("/signed-in/usage");
const SPANS = [7, 30, 90] as const;
const DAY_MS = 86_400_000;

type Row = NonNullable<NonNullable<NonNullable<Usage["myself"]>["usage"]>[number]>;
type Total = {
  readonly id: string;
  readonly name: string;
  readonly requests: number;
  readonly workerSeconds: number;
  readonly cost: number;
};

export function UsagePage() {
  const { days = 30 } = route.useSearch();
  const from = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - (days - 1) * DAY_MS).toISOString();
  const { data, error } = useQuery(usageQuery(from));
  const rows = (data ?? []).flatMap((row) => row ?? []);
  const totals = totalsOf(rows);
  return (
    <>
      <Title>Usage and cost</Title>
      <nav aria-label="Span" className="mb-3 flex gap-1">
        {SPANS.map((one) => (
          <Link
            key={one}
            to="/usage"
            search={one === 30 ? {} : { days: one }}
            aria-current={one === days ? "page" : undefined}
            className="rounded-full border border-line px-3 py-0.5 text-sm text-quiet hover:bg-raised aria-[current=page]:border-accent aria-[current=page]:text-ink"
          >
            {one} days
          </Link>
        ))}
      </nav>
      <Problem error={error} />
      {!data && !error ? <Loading /> : null}
      {data && rows.length === 0 ? (
        <Empty title="Nothing was used in these days">
          <p>Jobs and the time of workers are summed up here every few minutes.</p>
        </Empty>
      ) : null}
      {rows.length > 0 ? (
        <>
          <dl className="mb-4 grid grid-cols-3 gap-4 rounded-lg border border-line bg-card p-4">
            <Figure label="Cost">{dollars(sum(totals, "cost"))}</Figure>
            <Figure label="Jobs">{number(sum(totals, "requests"))}</Figure>
            <Figure label="Time of workers">{duration(1_000 * sum(totals, "workerSeconds"))}</Figure>
          </dl>
          <div className="mb-4">
            <Chart label="Cost per day" points={costPerDay(rows)} format={dollars} />
          </div>
          <Table label="By endpoint" rows={totals} columns={COLUMNS} keyOf={({ id }) => id} />
        </>
      ) : null}
    </>
  );
}

const COLUMNS: readonly Column<Total>[] = [
  { title: "Endpoint", width: "minmax(7rem,2fr)", cell: ({ name }) => name },
  { title: "Cost", width: "6rem", cell: ({ cost }) => dollars(cost) },
  { title: "Jobs", width: "5rem", cell: ({ requests }) => number(requests) },
  {
    title: "Workers",
    width: "8rem",
    isMinor: true,
    cell: ({ workerSeconds }) => duration(1_000 * workerSeconds),
  },
];

function totalsOf(rows: readonly Row[]): readonly Total[] {
  const byEndpoint = Map.groupBy(rows, ({ endpointId }) => endpointId ?? "");
  return [...byEndpoint]
    .map(([id, own]) => ({
      id,
      name: own.at(-1)?.endpointName ?? id,
      requests: own.reduce((total, { requests }) => total + (requests ?? 0), 0),
      workerSeconds: own.reduce((total, { workerSeconds }) => total + (workerSeconds ?? 0), 0),
      cost: own.reduce((total, { cost }) => total + (cost ?? 0), 0),
    }))
    .toSorted((one, other) => other.cost - one.cost);
}

function sum(totals: readonly Total[], member: "cost" | "requests" | "workerSeconds"): number {
  return totals.reduce((total, row) => total + row[member], 0);
}

function costPerDay(rows: readonly Row[]) {
  return [...Map.groupBy(rows, ({ from }) => from ?? "")]
    .map(([from, own]) => ({
      at: Date.parse(from),
      value: own.reduce((total, { cost }) => total + (cost ?? 0), 0),
    }))
    .toSorted((one, other) => one.at - other.at);
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { healthQuery, IN_LISTS_MS, overviewQuery, requestMetricsQuery } from "../api/queries.ts";
import type { Overview } from "../api/operations.ts";
import { Ago, Card, Empty, Failed, Figure, Loading, Problem, Title } from "../parts/basics.tsx";
import { dollars, duration, number, plural } from "../parts/format.ts";
import { Table, type Column } from "../parts/table.tsx";

type Account = NonNullable<Overview["myself"]>;
type Endpoint = NonNullable<Account["endpoints"][number]>;
type Host = NonNullable<NonNullable<Account["hosts"]>[number]>;

/** Endpoints whose health says on this page what they need. */
const WATCHED_MAX = 12;

export function OverviewPage() {
  const { data, error } = useQuery(overviewQuery);
  if (!data) return error ? <Failed title="Overview" error={error} /> : <Loading />;
  const endpoints = data.endpoints.flatMap((endpoint) => endpoint ?? []);
  const hosts = (data.hosts ?? []).flatMap((host) => host ?? []);
  return (
    <>
      <Title actions={<NewEndpointLink />}>Overview</Title>
      <Problem error={error} />
      <dl className="mb-4 grid grid-cols-2 gap-4 rounded-lg border border-line bg-card p-4 sm:grid-cols-4">
        <Figure label="Endpoints">{number(endpoints.length)}</Figure>
        <Figure label="Hosts connected">
          {hosts.filter(({ isPresent }) => isPresent).length} of {hosts.length}
        </Figure>
        {(data.budgets ?? []).slice(0, 2).map((budget) => (
          <Figure key={budget?.endpointId} label={`Spent this ${budget?.period ?? ""}`}>
            {dollars(budget?.spent)} of {dollars(budget?.limit)}
          </Figure>
        ))}
      </dl>
      <Attention endpoints={endpoints} hosts={hosts} />
      <h2 className="mt-6 mb-2 text-lg font-semibold">Endpoints</h2>
      {endpoints.length === 0 ? (
        <NoEndpoint hasHosts={hosts.length > 0} />
      ) : (
        <Table label="Endpoints" rows={endpoints} columns={COLUMNS} keyOf={({ id }) => id ?? ""} />
      )}
    </>
  );
}

function NewEndpointLink() {
  return (
    <Link
      to="/endpoints/new"
      className="rounded-md border border-accent bg-accent px-3 py-1.5 text-sm font-medium text-on-accent"
    >
      New endpoint
    </Link>
  );
}

function NoEndpoint({ hasHosts }: { readonly hasHosts: boolean }) {
  return (
    <Empty title="No endpoint yet">
      <p>An endpoint is a queue of jobs, and the workers that run them.</p>
      {hasHosts ? null : (
        <p>
          It needs a GPU host first:{" "}
          <Link to="/hosts" className="text-accent underline">
            add one
          </Link>
          .
        </p>
      )}
      <NewEndpointLink />
    </Empty>
  );
}

/** One sentence for everything that somebody should look at. */
function Attention({
  endpoints,
  hosts,
}: {
  readonly endpoints: readonly Endpoint[];
  readonly hosts: readonly Host[];
}) {
  return (
    <Card aria-labelledby="attention">
      <h2 id="attention" className="mb-2 font-semibold">
        Needs attention
      </h2>
      <ul className="m-0 list-none space-y-2 p-0 empty:after:text-quiet empty:after:content-['Nothing_does.']">
        {hosts.flatMap((host) => {
          const sentence = sentenceOfHost(host);
          return sentence ? [<HostItem key={host.id} host={host} sentence={sentence} />] : [];
        })}
        {endpoints.slice(0, WATCHED_MAX).map((endpoint) => (
          <EndpointItem key={endpoint.id} endpoint={endpoint} />
        ))}
      </ul>
    </Card>
  );
}

const ITEM = "rounded-md bg-wait-ground px-3 py-2 text-sm break-words";

function HostItem({ host, sentence }: { readonly host: Host; readonly sentence: string }) {
  return (
    <li className={ITEM}>
      <Link to="/hosts" className="font-medium text-accent underline">
        {host.name}
      </Link>{" "}
      {sentence}
      {host.isPresent ? (
        "."
      ) : (
        <>
          {" "}
          It was last seen <Ago at={host.lastSeenAt} />.
        </>
      )}
    </li>
  );
}

function sentenceOfHost(host: Host): string | undefined {
  if (!host.isPresent) return "is not connected.";
  if (host.isAgentRefused) return "has an agent that is too old to work here; upgrade it";
  if (host.isAgentOutdated) return "has an agent of an earlier version";
  return undefined;
}

function EndpointItem({ endpoint }: { readonly endpoint: Endpoint }) {
  const id = endpoint.id ?? "";
  const { data } = useQuery(healthQuery(id, IN_LISTS_MS));
  if (!data) return null;
  const { obstacle, release, budget, jobs } = data;
  const sentence =
    obstacle ??
    release?.reason ??
    (budget &&
      `The budget of ${dollars(budget.limit)} per ${budget.period} is ${budget.state === "reached" ? "reached" : "almost reached"}.`);
  if (!sentence) return null;
  return (
    <li className={ITEM}>
      <Link
        to="/endpoints/$endpointId"
        params={{ endpointId: id }}
        className="font-medium text-accent underline"
      >
        {endpoint.name}
      </Link>{" "}
      {sentence} {jobs.inQueue > 0 ? `${plural(jobs.inQueue, "job")} wait.` : ""}
    </li>
  );
}

const COLUMNS: readonly Column<Endpoint>[] = [
  {
    title: "Name",
    width: "minmax(8rem,2fr)",
    cell: ({ id, name }) => (
      <Link
        to="/endpoints/$endpointId"
        params={{ endpointId: id ?? "" }}
        className="font-medium text-accent hover:underline"
      >
        {name}
      </Link>
    ),
  },
  {
    title: "Hardware",
    width: "minmax(6rem,1.3fr)",
    isMinor: true,
    cell: ({ gpuIds, gpuCount, instanceIds }) =>
      gpuIds ? `${(gpuCount ?? 1) > 1 ? `${gpuCount} × ` : ""}${gpuIds}` : (instanceIds ?? []).join(", "),
  },
  { title: "Jobs waiting", width: "6rem", cell: ({ id }) => <Waiting id={id ?? ""} /> },
  { title: "Per minute", width: "6rem", isMinor: true, cell: ({ id }) => <PerMinute id={id ?? ""} /> },
  { title: "p90", width: "6rem", isMinor: true, cell: ({ id }) => <Execution id={id ?? ""} /> },
  { title: "Workers", width: "minmax(6rem,1.3fr)", cell: ({ id }) => <Workers id={id ?? ""} /> },
];

function Waiting({ id }: { readonly id: string }) {
  const { data } = useQuery(healthQuery(id, IN_LISTS_MS));
  return <span className="tabular-nums">{number(data?.jobs.inQueue)}</span>;
}

function PerMinute({ id }: { readonly id: string }) {
  const { data } = useQuery(requestMetricsQuery(id, "1h", 3 * IN_LISTS_MS));
  return <span className="tabular-nums">{number(data?.requestsPerMinute)}</span>;
}

function Execution({ id }: { readonly id: string }) {
  const { data } = useQuery(requestMetricsQuery(id, "1h", 3 * IN_LISTS_MS));
  return <span className="tabular-nums">{duration(data?.executionTime.p90)}</span>;
}

function Workers({ id }: { readonly id: string }) {
  const { data } = useQuery(healthQuery(id, IN_LISTS_MS));
  if (!data) return <span>–</span>;
  const { running, idle, initializing, throttled, unhealthy } = data.workers;
  const phases = Object.entries({ running, idle, starting: initializing, throttled, unhealthy });
  const shown = phases.filter(([, workers]) => workers > 0);
  return (
    <span>
      {shown.length === 0 ? "none" : shown.map(([phase, workers]) => `${workers} ${phase}`).join(", ")}
    </span>
  );
}

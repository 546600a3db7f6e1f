import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, Outlet } from "@tanstack/react-router";
import { endpointQuery, healthQuery } from "../api/queries.ts";
import { Failed, Figure, Loading, Problem, Title } from "../parts/basics.tsx";
import { number } from "../parts/format.ts";

const route = getRouteApi("/signed-in/endpoints/$endpointId");

const TABS = [
  { to: "/endpoints/$endpointId", title: "Jobs" },
  { to: "/endpoints/$endpointId/run", title: "Run" },
  { to: "/endpoints/$endpointId/workers", title: "Workers" },
  { to: "/endpoints/$endpointId/logs", title: "Logs" },
  { to: "/endpoints/$endpointId/metrics", title: "Metrics" },
  { to: "/endpoints/$endpointId/versions", title: "Versions" },
  { to: "/endpoints/$endpointId/settings", title: "Settings" },
] as const;

export function EndpointPage() {
  const { endpointId } = route.useParams();
  const { data, error } = useQuery(endpointQuery(endpointId));
  if (!data) return error ? <Failed title="Endpoint" error={error} /> : <Loading />;
  return (
    <>
      <Title>{data.name}</Title>
      <p className="-mt-3 mb-4 text-sm break-all text-quiet">
        <code>{data.id}</code>, version {data.version}, <code>{data.template?.imageName}</code>
      </p>
      <Problem error={error} />
      <State endpointId={endpointId} />
      <nav aria-label="Of this endpoint" className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
        {TABS.map(({ to, title }) => (
          <Link
            key={to}
            to={to}
            params={{ endpointId }}
            activeOptions={{ exact: true, includeSearch: false }}
            className="-mb-px border-b-2 border-transparent px-3 py-2 text-sm text-quiet hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-semibold aria-[current=page]:text-ink"
          >
            {title}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  );
}

/** What it does now, and what keeps it from doing more. */
function State({ endpointId }: { readonly endpointId: string }) {
  const { data } = useQuery(healthQuery(endpointId));
  if (!data) return null;
  const { jobs, workers, obstacle, release } = data;
  return (
    <>
      <dl className="mb-4 grid grid-cols-2 gap-4 rounded-lg border border-line bg-card p-4 sm:grid-cols-3 lg:grid-cols-5">
        <Figure label="Waiting">{number(jobs.inQueue)}</Figure>
        <Figure label="Running">{number(jobs.inProgress)}</Figure>
        <Figure label="Completed">{number(jobs.completed)}</Figure>
        <Figure label="Failed">{number(jobs.failed)}</Figure>
        <Figure label="Workers ready">
          {number(workers.ready)} of {number(workers.running + workers.idle + workers.initializing)}
        </Figure>
      </dl>
      {obstacle ? <p className="mb-4 rounded-md bg-wait-ground p-3 text-sm">{obstacle}</p> : null}
      {release ? (
        <p className="mb-4 rounded-md bg-raised p-3 text-sm">
          Version {release.to} replaces {release.from}: {release.ready} of {release.current} new workers take
          jobs, {release.outdated} old ones are left. {release.reason}
        </p>
      ) : null}
    </>
  );
}

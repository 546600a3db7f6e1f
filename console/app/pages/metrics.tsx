import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { METRICS_WINDOWS } from "../../../src/contract/metrics-window.ts";
import { requestMetricsQuery, workerMetricsQuery } from "../api/queries.ts";
import { Figure, Problem } from "../parts/basics.tsx";
import { Chart } from "../parts/chart.tsx";
import { duration, number } from "../parts/format.ts";

const route = getRouteApi("/signed-in/endpoints/$endpointId/metrics");

export function MetricsTab() {
  const { endpointId } = route.useParams();
  const { window = "1h" } = route.useSearch();
  const requests = useQuery(requestMetricsQuery(endpointId, window));
  const workers = useQuery(workerMetricsQuery(endpointId, window));
  const jobs = requests.data;
  const series = workers.data?.points ?? [];
  return (
    <>
      <nav aria-label="Window" className="mb-3 flex gap-1">
        {METRICS_WINDOWS.map((one) => (
          <Link
            key={one}
            to="/endpoints/$endpointId/metrics"
            params={{ endpointId }}
            search={{ window: one }}
            aria-current={one === window ? "page" : undefined}
            className="rounded-full border border-line px-3 py-0.5 text-sm text-quiet hover:bg-raised aria-[current=page]:border-accent aria-[current=page]:text-ink"
          >
            {one}
          </Link>
        ))}
      </nav>
      <Problem error={requests.error ?? workers.error} />
      <dl className="mb-4 grid grid-cols-2 gap-4 rounded-lg border border-line bg-card p-4 sm:grid-cols-4 lg:grid-cols-7">
        <Figure label="Jobs">{number(jobs?.requests)}</Figure>
        <Figure label="Completed">{number(jobs?.completed)}</Figure>
        <Figure label="Failed">{number(jobs?.failed)}</Figure>
        <Figure label="Waited, p90">{duration(jobs?.delayTime.p90)}</Figure>
        <Figure label="Ran, p50">{duration(jobs?.executionTime.p50)}</Figure>
        <Figure label="Ran, p99">{duration(jobs?.executionTime.p99)}</Figure>
        <Figure label="Cold start, p90">{duration(jobs?.coldStartTime.p90)}</Figure>
      </dl>
      <div className="grid gap-3 md:grid-cols-2">
        <Chart
          label="Jobs submitted"
          points={(jobs?.points ?? []).map(({ at, requests: value }) => ({ at, value }))}
          format={number}
        />
        <Chart
          label="Running time, p90"
          points={(jobs?.points ?? []).map(({ at, executionTime }) => ({ at, value: executionTime.p90 }))}
          format={duration}
        />
        <Chart
          label="Jobs waiting"
          points={series.map(({ at, max }) => ({ at, value: max.queued }))}
          format={number}
        />
        <Chart
          label="Workers"
          points={series.map(({ at, mean }) => ({ at, value: mean.busy + mean.idle + mean.starting }))}
          format={number}
        />
      </div>
    </>
  );
}

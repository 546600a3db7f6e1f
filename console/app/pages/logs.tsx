import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { logsQuery } from "../api/queries.ts";
import { Button, Empty, inputClass, Loading, Problem } from "../parts/basics.tsx";
import { LogLines } from "../parts/log-lines.tsx";

const route = getRouteApi("/signed-in/endpoints/$endpointId/logs");

export function LogsTab() {
  const { endpointId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error } = useQuery(logsQuery(endpointId, search));
  return (
    <>
      <form
        className="mb-3 flex flex-wrap gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          const text = new FormData(event.currentTarget).get("search");
          const { search: _, ...rest } = search;
          void navigate({ search: { ...rest, ...(typeof text === "string" && text && { search: text }) } });
        }}
      >
        <label className="sr-only" htmlFor="search">
          Text in the line
        </label>
        <input
          key={search.search}
          id="search"
          name="search"
          type="search"
          placeholder="Text in the line"
          defaultValue={search.search}
          className={`${inputClass} max-w-xs`}
        />
        <Button type="submit">Search</Button>
        {search.workerId ? (
          <Link
            to="/endpoints/$endpointId/logs"
            params={{ endpointId }}
            className="rounded-full border border-line px-3 py-1.5 text-sm text-quiet"
          >
            only worker {search.workerId} ×
          </Link>
        ) : null}
      </form>
      <Problem error={error} />
      {!data && !error ? <Loading /> : null}
      {data && data.lines.length > 0 ? <LogLines lines={data.lines} /> : null}
      {data && data.lines.length === 0 ? (
        <Empty title="No line">
          <p>What workers print appears here within seconds, and is kept for days.</p>
        </Empty>
      ) : null}
    </>
  );
}

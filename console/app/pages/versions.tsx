import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { query } from "../api/graphql.ts";
import { endpointQuery, versionsQuery } from "../api/queries.ts";
import { ROLLBACK, type Versions } from "../api/operations.ts";
import { Ago, Card, Empty, Loading, Problem } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";

const route = getRouteApi("/signed-in/endpoints/$endpointId/versions");

type Found = NonNullable<NonNullable<Versions["myself"]>["endpoint"]>;
type Version = NonNullable<Found["releases"]>[number];

export function VersionsTab() {
  const { endpointId } = route.useParams();
  const { data, error } = useQuery(versionsQuery(endpointId));
  if (!data) return error ? <Problem error={error} /> : <Loading />;
  if (data.length === 0) return <Empty title="No version is recorded" />;
  return (
    <ol className="m-0 list-none space-y-3 p-0">
      {data.map((release, index) => (
        <li key={release.version}>
          <Card>
            <div className="mb-2 flex flex-wrap items-baseline justify-between gap-2">
              <h2 className="font-semibold">Version {release.version}</h2>
              <span className="text-sm text-quiet">
                <Ago at={release.createdAt} /> by {release.apiKeyName ?? "a key that is deleted"}
                {release.flashBuildId ? `, build ${release.flashBuildId}` : ""}
              </span>
            </div>
            {release.reason && <p className="mb-1 text-sm break-words">{release.reason}</p>}
            <Changes changes={release.changes} />
            {index > 0 && <WayBack endpointId={endpointId} version={release.version} />}
          </Card>
        </li>
      ))}
    </ol>
  );
}

function Changes({ changes }: Pick<Version, "changes">) {
  if (changes.length === 0) return <p className="text-sm text-quiet">The first one.</p>;
  return (
    <ul className="m-0 list-none space-y-1 p-0 text-sm">
      {changes.map(({ field, old, new: changed }) => (
        <li key={field} className="break-words">
          <span className="font-medium">{field}</span>{" "}
          <code className="text-xs">
            {shown(old)} → {shown(changed)}
          </code>
        </li>
      ))}
    </ul>
  );
}

/** Makes the newest version of what an earlier one had. */
function WayBack({ endpointId, version }: { readonly endpointId: string; readonly version: number }) {
  const cache = useQueryClient();
  return (
    <div className="mt-3">
      <ConfirmButton
        label={`Go back to version ${version}`}
        title={`Go back to version ${version}?`}
        explanation="A new version gets the image, files, variables and hardware of that one; limits and timeouts stay as they are. Workers of the present version go on until new ones are ready."
        action={async () => {
          await query(ROLLBACK, { endpointId, version });
          await cache.invalidateQueries(endpointQuery(endpointId));
          await cache.invalidateQueries(versionsQuery(endpointId));
        }}
      />
    </div>
  );
}

function shown(value: unknown): string {
  return typeof value === "string" ? value || '""' : JSON.stringify(value);
}

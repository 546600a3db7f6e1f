import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { query } from "../api/graphql.ts";
import { endpointQuery, versionsQuery } from "../api/queries.ts";
import { CHANGE_ENDPOINT, type Versions } from "../api/operations.ts";
import { Ago, Card, Empty, Loading, Problem } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";

const route = getRouteApi("/signed-in/endpoints/$endpointId/versions");

type Found = NonNullable<NonNullable<Versions["myself"]>["endpoint"]>;
type Version = NonNullable<Found["releases"]>[number];

/** Settings by which an earlier version is made once more. */
const RESTORABLE = ["imageName", "dockerArgs"] as const;

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
            <Changes changes={release.changes} />
            <WayBack endpointId={endpointId} later={data.slice(0, index)} version={release.version} />
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

/** Makes once more what the version had, where later ones have changed that; it becomes the newest version. */
function WayBack(props: {
  readonly endpointId: string;
  readonly later: readonly Version[];
  readonly version: number;
}) {
  const cache = useQueryClient();
  const settings = settingsBefore(props.later);
  const restored = Object.entries(settings).map(([name, value]) => `${name} ${shown(value)}`);
  if (restored.length === 0) return null;
  return (
    <div className="mt-3">
      <ConfirmButton
        label={`Go back to version ${props.version}`}
        title={`Go back to version ${props.version}?`}
        explanation={`A new version gets its ${restored.join(" and ")}. Workers of the present one go on until new ones are ready.`}
        action={async () => {
          await query(CHANGE_ENDPOINT, { id: props.endpointId, ...settings });
          await cache.invalidateQueries(endpointQuery(props.endpointId));
          await cache.invalidateQueries(versionsQuery(props.endpointId));
        }}
      />
    </div>
  );
}

type Settings = { imageName?: string; dockerArgs?: string };

/** The oldest of the later changes says what stood before it. */
function settingsBefore(later: readonly Version[]): Settings {
  const settings: Settings = {};
  for (const { changes } of later) {
    for (const name of RESTORABLE) {
      const old = changes.find(({ field }) => field === `template.${name}`)?.old;
      // A long value is recorded by its length alone.
      if (typeof old === "string" && !/^\(\d+ characters\)$/.test(old)) settings[name] = old;
    }
  }
  return settings;
}

function shown(value: unknown): string {
  return typeof value === "string" ? value || '""' : JSON.stringify(value);
}

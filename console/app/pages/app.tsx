import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { query } from "../api/graphql.ts";
import { DELETE_APP, DELETE_ENVIRONMENT, type App } from "../api/operations.ts";
import { appQuery, appsQuery } from "../api/queries.ts";
import { Ago, Card, Empty, Failed, Loading, Title } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { bytes } from "../parts/format.ts";
import { Table, type Column } from "../parts/table.tsx";

const route = getRouteApi("/signed-in/apps/$appId");

type Found = NonNullable<App["flashApp"]>;
type Environment = NonNullable<NonNullable<Found["flashEnvironments"]>[number]>;
type Build = NonNullable<NonNullable<Found["flashBuilds"]>[number]>;

export function AppPage() {
  const { appId } = route.useParams();
  const { data: app, error } = useQuery(appQuery(appId));
  if (!app) return error ? <Failed title="App" error={error} /> : <Loading />;
  const environments = (app.flashEnvironments ?? []).flatMap((one) => one ?? []);
  const builds = (app.flashBuilds ?? []).flatMap((one) => one ?? []);
  return (
    <>
      <Title actions={<Deletion app={app} />}>{app.name}</Title>
      <h2 className="mb-2 text-lg font-semibold">Environments</h2>
      {environments.length === 0 ? <Empty title="No environment" /> : null}
      <div className="grid gap-4 lg:grid-cols-2">
        {environments.map((environment) => (
          <EnvironmentCard key={environment.id} environment={environment} appId={appId} />
        ))}
      </div>
      <h2 className="mt-6 mb-2 text-lg font-semibold">Builds</h2>
      {builds.length === 0 ? (
        <Empty title="No build">
          <p>
            <code>flash deploy</code> makes one, and deploys it to an environment.
          </p>
        </Empty>
      ) : (
        <Table label="Builds" rows={builds} columns={columnsOf(environments)} keyOf={({ id }) => id ?? ""} />
      )}
    </>
  );
}

function EnvironmentCard(props: { readonly environment: Environment; readonly appId: string }) {
  const { id, name, state, activeBuildId, createdAt, leaseExpiresAt, endpoints } = props.environment;
  const cache = useQueryClient();
  return (
    <Card aria-label={name ?? ""}>
      <div className="mb-2 flex flex-wrap items-baseline justify-between gap-2">
        <h3 className="font-semibold">{name}</h3>
        <span className="text-sm text-quiet">{(state ?? "").toLowerCase()}</span>
      </div>
      <p className="mb-3 text-sm break-words text-quiet">
        Build {activeBuildId ?? "none"}, made <Ago at={createdAt} />
        {leaseExpiresAt ? (
          <>
            , a session that ends <Ago at={leaseExpiresAt} />
          </>
        ) : null}
      </p>
      <ul className="m-0 mb-3 list-none space-y-1 p-0 text-sm">
        {(endpoints ?? []).map((endpoint) =>
          endpoint ? (
            <li key={endpoint.id}>
              <Link
                to="/endpoints/$endpointId/versions"
                params={{ endpointId: endpoint.id ?? "" }}
                className="text-accent hover:underline"
              >
                {endpoint.name}
              </Link>{" "}
              <span className="text-quiet">version {endpoint.version}</span>
            </li>
          ) : null,
        )}
      </ul>
      <ConfirmButton
        label="Delete"
        title={`Delete ${name}?`}
        explanation="Its endpoints with their jobs and results are removed as well. This cannot be undone."
        action={async () => {
          await query(DELETE_ENVIRONMENT, { id });
          await cache.invalidateQueries(appQuery(props.appId));
        }}
      />
    </Card>
  );
}

function columnsOf(environments: readonly Environment[]): readonly Column<Build>[] {
  return [
    { title: "Build", width: "minmax(7rem,2fr)", cell: ({ id }) => <code className="text-xs">{id}</code> },
    { title: "Made", width: "6.5rem", cell: ({ createdAt }) => <Ago at={createdAt} /> },
    { title: "Size", width: "6rem", isMinor: true, cell: ({ sizeBytes }) => bytes(sizeBytes) },
    {
      title: "SHA-256",
      width: "minmax(6rem,2fr)",
      isMinor: true,
      cell: ({ sha256 }) => <code className="text-xs">{sha256}</code>,
    },
    {
      title: "Active in",
      width: "minmax(6rem,1fr)",
      cell: ({ id }) =>
        environments
          .filter(({ activeBuildId }) => activeBuildId === id)
          .map(({ name }) => name)
          .join(", "),
    },
  ];
}

function Deletion({ app }: { readonly app: Found }) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  return (
    <ConfirmButton
      label="Delete the app"
      title={`Delete ${app.name}?`}
      explanation="Its environments with their endpoints, jobs and results are removed as well, and its builds. This cannot be undone."
      action={async () => {
        await query(DELETE_APP, { id: app.id });
        await navigate({ to: "/apps" });
        await cache.invalidateQueries(appsQuery);
      }}
    />
  );
}

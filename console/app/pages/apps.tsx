import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Apps } from "../api/operations.ts";
import { appsQuery } from "../api/queries.ts";
import { Ago, Card, Copyable, Empty, InstallCommands, Loading, Problem, Title } from "../parts/basics.tsx";

type App = NonNullable<NonNullable<NonNullable<Apps["myself"]>["flashApps"]>[number]>;
type Environment = NonNullable<NonNullable<App["flashEnvironments"]>[number]>;

export function AppsPage() {
  const { data, error } = useQuery(appsQuery);
  const apps = (data ?? []).flatMap((app) => app ?? []);
  return (
    <>
      <Title>Apps</Title>
      <Problem error={error} />
      {!data && !error ? <Loading /> : null}
      {data && apps.length === 0 ? (
        <Empty title="No app yet">
          <p>
            An app is Python code whose functions run on your hosts. The flash command lays one out and
            deploys it.
          </p>
          <InstallCommands />
          <Copyable
            text={`flash login --url ${location.origin}\nflash init my-app && cd my-app && flash deploy`}
            label="Commands of a first app"
          />
        </Empty>
      ) : null}
      <div className="space-y-4">
        {apps.map((app) => (
          <Card key={app.id} aria-label={app.name ?? ""}>
            <h2 className="mb-2 font-semibold">
              <Link
                to="/apps/$appId"
                params={{ appId: app.id ?? "" }}
                className="text-accent hover:underline"
              >
                {app.name}
              </Link>
            </h2>
            <ul className="m-0 list-none space-y-3 p-0">
              {(app.flashEnvironments ?? []).map((environment) =>
                environment ? <EnvironmentItem key={environment.id} environment={environment} /> : null,
              )}
            </ul>
          </Card>
        ))}
      </div>
    </>
  );
}

function EnvironmentItem({ environment }: { readonly environment: Environment }) {
  const { name, state, activeBuildId, createdAt, endpoints } = environment;
  return (
    <li className="text-sm">
      <span className="font-medium">{name}</span>{" "}
      <span className="text-quiet">
        {(state ?? "").toLowerCase()}, build {activeBuildId ?? "none"}, made <Ago at={createdAt} />
      </span>
      <span className="flex flex-wrap gap-x-3">
        {(endpoints ?? []).map((endpoint) => (
          <Link
            key={endpoint?.id}
            to="/endpoints/$endpointId"
            params={{ endpointId: endpoint?.id ?? "" }}
            className="text-accent hover:underline"
          >
            {endpoint?.name}
          </Link>
        ))}
      </span>
    </li>
  );
}

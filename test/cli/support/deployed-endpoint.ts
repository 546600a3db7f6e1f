import { managementApi } from "../../../standalone/management-api.ts";
import type { EdgeAccess } from "../../support/lone-edge.ts";

type EndpointOfEnvironment = { readonly name: string; readonly environment: string; readonly app: string };

/** An endpoint as a deployment makes it, in an environment that is made where there is none. */
export async function makeEndpoint(
  { baseUrl, apiKey }: EdgeAccess,
  { name, environment, app }: EndpointOfEnvironment,
): Promise<string> {
  const api = managementApi(baseUrl, apiKey);
  const flashEnvironmentId = await environmentId(api, app, environment);
  const { saveEndpoint } = await api.query<{ saveEndpoint: { id: string } }>(
    "mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }",
    {
      input: {
        name,
        flashEnvironmentId,
        gpuIds: "ADA_24",
        workersMax: 1,
        template: { name: `${app}-${environment}-${name}`, imageName: "none", containerDiskInGb: 5 },
      },
    },
  );
  return saveEndpoint.id;
}

async function environmentId(
  api: ReturnType<typeof managementApi>,
  app: string,
  name: string,
): Promise<string> {
  const found = await findApp(api, app);
  const appId = found?.id ?? (await createApp(api, app));
  const known = found?.flashEnvironments.find((one) => one.name === name);
  if (known) return known.id;
  const { createFlashEnvironment } = await api.query<{ createFlashEnvironment: { id: string } }>(
    "mutation ($input: CreateFlashEnvironmentInput!) { createFlashEnvironment(input: $input) { id } }",
    { input: { flashAppId: appId, name } },
  );
  return createFlashEnvironment.id;
}

type App = {
  readonly id: string;
  readonly name: string;
  readonly flashEnvironments: readonly { id: string; name: string }[];
};

async function findApp(api: ReturnType<typeof managementApi>, name: string): Promise<App | undefined> {
  const { myself } = await api.query<{ myself: { flashApps: readonly App[] } }>(
    "query { myself { flashApps { id name flashEnvironments { id name } } } }",
    {},
  );
  return myself.flashApps.find((app) => app.name === name);
}

async function createApp(api: ReturnType<typeof managementApi>, name: string): Promise<string> {
  const { createFlashApp } = await api.query<{ createFlashApp: { id: string } }>(
    "mutation ($input: CreateFlashAppInput!) { createFlashApp(input: $input) { id } }",
    { input: { name } },
  );
  return createFlashApp.id;
}

/** Ids of all apps, and of what they hold. */
export async function idsOf({ baseUrl, apiKey }: EdgeAccess): Promise<readonly string[]> {
  const { myself } = await managementApi(baseUrl, apiKey).query<{ myself: unknown }>(
    `query { myself { flashApps { id flashBuilds { id }
      flashEnvironments { id endpoints { id } networkVolumes { id } } } } }`,
  );
  return [...JSON.stringify(myself).matchAll(/"id":"([^"]+)"/g)].map(([, id = ""]) => id);
}

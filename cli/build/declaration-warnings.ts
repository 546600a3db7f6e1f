/** What an app may declare, and should better not. */
import type { DiscoveredEndpoint, DiscoveryReport } from "../discovery/discovery-report.ts";

/** Variables by which a worker knows what it is and whom to ask; the service sets them, unless the app does. */
const VARIABLES_OF_WORKERS = [
  "FLASH_APP",
  "FLASH_ENV",
  "FLASH_ENVIRONMENT_ID",
  "FLASH_RESOURCE_NAME",
  "FLASH_ENDPOINT_TYPE",
  "EDGERUN_URL",
  "SVC_API_KEY",
  "RUNPOD_API_KEY",
];

/** Of a template, what a deployment leaves out, and why. */
const NOT_DEPLOYED = {
  name: "since names are unique in an account, the service gives each environment's template one of its own",
  config: "workers of endpoints have no use for it",
};

export function declarationWarnings({ endpoints }: DiscoveryReport): string[] {
  return endpoints.flatMap((endpoint) => [
    ...(endpoint.isClient ? [] : warningsOf(endpoint)),
    ...templateWarnings(endpoint),
  ]);
}

function templateWarnings(endpoint: DiscoveredEndpoint): string[] {
  const { template = {} } = endpoint.resource;
  return Object.entries(NOT_DEPLOYED).flatMap(([field, why]) =>
    field in template
      ? [`${placeOf(endpoint)} has a template with ${field}, which is not deployed: ${why}.`]
      : [],
  );
}

function placeOf({ filePath, line, name }: DiscoveredEndpoint): string {
  return `${filePath}:${line}: the endpoint ${name}`;
}

function warningsOf(endpoint: DiscoveredEndpoint): string[] {
  const { systemDependencies } = endpoint;
  const place = placeOf(endpoint);
  const variables = VARIABLES_OF_WORKERS.filter((variable) => variablesOf(endpoint).has(variable));
  return [
    ...(systemDependencies.length === 0
      ? []
      : [
          `${place} wants ${systemDependencies.join(", ")} of the system, which an artifact cannot carry. ` +
            "Deploy it on an image that has them.",
        ]),
    ...(variables.length === 0
      ? []
      : [`${place} sets ${variables.join(", ")}, which the service tells its workers otherwise.`]),
  ];
}

function variablesOf({ resource: { env = {}, template } }: DiscoveredEndpoint): ReadonlySet<string> {
  return new Set([...Object.keys(env), ...(template?.env ?? []).map(({ key }) => key)]);
}

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

export function declarationWarnings({ endpoints }: DiscoveryReport): string[] {
  return endpoints.filter(({ isClient }) => !isClient).flatMap(warningsOf);
}

function warningsOf(endpoint: DiscoveredEndpoint): string[] {
  const { filePath, line, name, systemDependencies } = endpoint;
  const place = `${filePath}:${line}: the endpoint ${name}`;
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

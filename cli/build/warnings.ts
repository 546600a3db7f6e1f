/** Warnings of a build: declarations that have no effect, and imports that workers will not find. */
import { readdir } from "node:fs/promises";
import type { DiscoveryReport, DiscoveredEndpoint } from "../discovery/discovery-report.ts";
import { type Exclusions, normalizedName, SDK_PACKAGE } from "../requirements/exclusions.ts";

/** Packages that the code imports when it is loaded and that workers will not find; `contents` is the directory that is packed. */
export async function importWarnings(
  { imports = [] }: DiscoveryReport,
  contents: string,
  { keys }: Exclusions,
): Promise<readonly string[]> {
  const names = (await readdir(contents)).map(moduleOf);
  const provided = new Set([...names, SDK_PACKAGE]);
  const missing = imports.filter(
    ({ module }) => !provided.has(module) && !keys.includes(normalizedName(module)),
  );
  const first = new Map(missing.toReversed().map((found) => [found.module, found]));
  return [...first.values()]
    .toReversed()
    .map(
      ({ file, line, module }) =>
        `${file}:${line} imports ${module}, which is neither in the app nor among its packages. Unless the image has it, ` +
        `no worker can start. Add it to the endpoint's dependencies=[…] or to requirements.txt.`,
    );
}

/** The module that a file or directory defines; the name of a native extension ends at its first dot. */
function moduleOf(name: string): string {
  if (name.endsWith(".py")) return name.slice(0, -".py".length);
  return /\.(so|pyd)$/.test(name) ? name.slice(0, name.indexOf(".")) : name;
}

/** Variables that the service sets in workers, unless the app does. */
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

/** Fields of a template that are not deployed, and why. */
const NOT_DEPLOYED = {
  name: "names are unique in an account, so the service names the template of each environment",
  config: "it has no effect on workers of endpoints",
};

export function declarationWarnings({ endpoints }: DiscoveryReport): string[] {
  return endpoints.flatMap((endpoint) => [
    ...(endpoint.isClient ? [] : endpointWarnings(endpoint)),
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

function endpointWarnings(endpoint: DiscoveredEndpoint): string[] {
  const { systemDependencies } = endpoint;
  const place = placeOf(endpoint);
  const variables = VARIABLES_OF_WORKERS.filter((variable) => variablesOf(endpoint).has(variable));
  return [
    ...(systemDependencies.length === 0
      ? []
      : [
          `${place} needs the system packages ${systemDependencies.join(", ")}, which an artifact cannot contain. ` +
            "Deploy it on an image that has them.",
        ]),
    ...(variables.length === 0
      ? []
      : [`${place} sets ${variables.join(", ")}, which the service sets in its workers otherwise.`]),
  ];
}

function variablesOf({ resource: { env = {}, template } }: DiscoveredEndpoint): ReadonlySet<string> {
  return new Set([...Object.keys(env), ...(template?.env ?? []).map(({ key }) => key)]);
}

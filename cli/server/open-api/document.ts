/** The OpenAPI document of the local server, with example bodies that can be sent unchanged. */
import type { Paths } from "./schemas.ts";
import { jobOperations, queuePaths } from "./queue-paths.ts";
import { routePaths } from "./route-paths.ts";
import type { ServedEndpoint } from "../requests/served-app.ts";

const JOBS_TAG = "Jobs";

/** `version` is that of the command. */
export function openApiDocument(name: string, version: string, endpoints: readonly ServedEndpoint[]): object {
  const queues = endpoints.filter(({ resource }) => !resource.is_load_balanced);
  const jobs = queues.length > 0 ? jobOperations(JOBS_TAG, queues) : {};
  return {
    openapi: "3.1.0",
    info: {
      title: name,
      version,
      description:
        'Endpoints of this app, called from this computer. Queue-based ones take their arguments in `"input"`; routes take them directly.',
    },
    tags: [
      ...endpoints.map(tagOf),
      ...(queues.length > 0
        ? [{ name: JOBS_TAG, description: "of queue-based endpoints, by their ids" }]
        : []),
    ],
    paths: { ...merged(endpoints.map(pathsOf)), ...jobs },
  };
}

function pathsOf(endpoint: ServedEndpoint): Paths {
  return endpoint.resource.is_load_balanced ? routePaths(endpoint) : queuePaths(endpoint);
}

function merged(all: readonly Paths[]): Paths {
  return Object.assign({}, ...all) as Paths;
}

function tagOf({ name, problem, resource }: ServedEndpoint): object {
  const kind = resource.is_load_balanced ? "load-balanced" : "queue-based";
  return { name, description: problem === undefined ? kind : `cannot be called now: ${problem}` };
}

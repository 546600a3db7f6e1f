/** The access that each operation of an endpoint needs, by method and path below it: `GET status/:jobId`. */
import { queueApis } from "../../src/gateway/queue/routes.ts";

const OF_ENDPOINT = "/v2/{endpointId}";

export const NEEDED_ACCESS = Object.fromEntries(
  queueApis
    .filter(({ prefix }) => prefix.startsWith(OF_ENDPOINT))
    .flatMap(({ prefix, operations }) =>
      operations.map(({ on, access }) => {
        const [method, path] = on.split(" ");
        const below = `${prefix.slice(OF_ENDPOINT.length)}${path}`.slice(1);
        return [`${method} ${below.replaceAll(/\{(\w+)\}/g, ":$1")}`, access] as const;
      }),
    ),
);

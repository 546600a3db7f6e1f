import { test } from "vitest";
import { LOAD_BALANCED_METHODS } from "../../src/gateway/load-balancing/operations.ts";
import { PAGES } from "../../src/gateway/console/pages.ts";
import { makeDocument } from "../../src/gateway/docs/openapi/document.ts";
import { edgeRoutes } from "../../src/routes.ts";

/** For people and their browsers, GraphQL, which describes itself, and WebSockets, of which OpenAPI knows nothing. */
const OTHER_ROUTES = [
  "GET /",
  "GET /home.js",
  "GET /favicon.ico",
  "GET /packages",
  "GET /packages/requirements.txt",
  "GET /packages/simple",
  "GET /packages/simple/edgerun",
  "GET /packages/{file}",
  "GET /agent/v1/endpoints/{endpointId}/link",
  "GET /agent/v1/pods/{podId}/link",
  "GET /agent/v1/host/link",
  "GET /agent/v1/presence",
  "GET /agent/v1/endpoints/{endpointId}/link",
  "GET /agent/v1/pods/{podId}/link",
  "GET /agent/install.sh",
  "GET /agent/edgerun-agent.mjs",
  "GET /agent/edgerun-agent.mjs.sha256",
  "GET /agent/edgerun-agent.mjs.sig",
  "GET /tunnels/{id}/exec",
  "GET /tunnels/{id}/ports/{port}",
  "GET /docs",
  "GET /docs/*",
  "GET /docs/graphql",
  "GET /flash/login",
  "GET /flash/login.css",
  "GET /flash/login.js",
  "GET /graphql",
  "POST /graphql",
];

/** The console: its pages, files, and signing in, which pages alone may do. */
const OF_CONSOLE = new RegExp(`^(GET|POST) /(console|${PAGES.join("|")})(/|$)`);

/** What the routes answer to; ALL stands for middleware and for what refuses the rest. */
function routedOperations(): readonly string[] {
  const routes = edgeRoutes().routes.filter(({ method }) => method !== "ALL");
  return routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
}

function documentedOperations(): readonly string[] {
  return Object.entries(makeDocument().paths ?? {}).flatMap(([path, operations]) =>
    Object.keys(operations ?? {}).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

/** A worker's routes are its own: the document shows the usual methods for all of them. */
const OF_WORKERS = "ALL /lb/:endpointId/*";

function routesOfWorkers(): readonly string[] {
  const isThere = edgeRoutes().routes.some(({ method, path }) => `${method} ${path}` === OF_WORKERS);
  return isThere ? LOAD_BALANCED_METHODS.map((method) => `${method} /lb/{endpointId}/{path}`) : [];
}

test("every route is documented, and everything documented is a route", ({ expect }) => {
  const routed = routedOperations().filter(
    (operation) => !OTHER_ROUTES.includes(operation) && !OF_CONSOLE.test(operation),
  );
  expect([...new Set([...routed, ...routesOfWorkers()])].toSorted()).toEqual(
    documentedOperations().toSorted(),
  );
});

test("every operation has its own id, a tag that is explained, and a success", ({ expect }) => {
  const { paths, tags = [] } = makeDocument();
  const operations = Object.values(paths ?? {}).flatMap((path) => Object.values(path ?? {}));
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const known = new Set(tags.map(({ name }) => name));
  for (const { operationId, tags: own, responses } of operations) {
    expect(
      own?.every((tag: string) => known.has(tag)),
      operationId,
    ).toBe(true);
    expect(
      Object.keys(responses).some((status) => status.startsWith("2")),
      operationId,
    ).toBe(true);
  }
});

test("the document has the list of data centers where clients look for it", ({ expect }) => {
  const { schemas = {} } = makeDocument().components ?? {};
  expect(schemas).toMatchObject({
    PodCreateInput: {
      properties: { dataCenterIds: { items: { enum: expect.arrayContaining(["EU-RO-1", "US-KS-2"]) } } },
    },
  });
});

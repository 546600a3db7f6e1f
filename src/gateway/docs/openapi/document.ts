/** The OpenAPI document of all routes but GraphQL, made of the schemas that validate requests and type answers. */
import type { Context } from "hono";
import * as z from "zod";
import { createDocument, type ZodOpenApiObject } from "zod-openapi";
import { EDGE_RATE_LIMITS } from "../../../contract/rate-limits.ts";
import { EDGERUN_VERSION } from "../../../contract/version.ts";
import { errorBodySchema } from "../../../contract/errors.ts";
import { agentApi } from "../../agent/routes.ts";
import { artifactApi } from "../../artifacts/routes.ts";
import { loadBalancingApi } from "../../load-balancing/operations.ts";
import { queueApis } from "../../queue/routes.ts";
import { restApis } from "../../rest/routes.ts";
import { restV2Apis } from "../../rest-v2/routes.ts";
import type { Api, Operation } from "../../route.ts";
import { pathsOf } from "./paths.ts";

const MAX_AGE_SECONDS = 300;

/** Documents are expensive to make, and the same for all callers. */
const cached = new Map<string, string>();

/** `GET /openapi.json`, and `/v2/openapi.json` with REST v2 alone: need no key. */
export function openApi(context: Context): Response {
  const { path } = context.req;
  const json = cached.get(path) ?? JSON.stringify(makeDocument({ isRestV2: path.startsWith("/v2/") }));
  cached.set(path, json);
  return context.body(json, 200, {
    "Content-Type": "application/json",
    "Cache-Control": `public, max-age=${MAX_AGE_SECONDS}`,
  });
}

const DESCRIPTION = `
Serverless GPU jobs on your own hosts.

- **Queue API** \`/v2/{endpointId}/…\`: submit jobs, read them, stream what they yield; OpenAI's routes below \`/openai/v1\`.
- **Load-balanced endpoints** \`/lb/{endpointId}/…\`: requests that are forwarded to a worker.
- **Tunnels** \`/tunnels/{id}/exec\` and \`/tunnels/{id}/ports/{port}\`: WebSockets to commands and TCP ports in
  containers of pods and workers.
- **REST v2** \`/v2/serverless\`, \`/v2/templates\` …: endpoints, templates, volumes, registries, catalog, billing.
- **REST v1** \`/v1/…\`: the same for clients of the older version.
- **GraphQL** \`/graphql\`: the whole management API; see [its schema](/docs/graphql).
- **Agent API** \`/agent/v1/…\`: for the agents of hosts.

Every call carries \`Authorization: Bearer <API key>\`.

Requests above a limit are answered with 429 and \`Retry-After\`. Limits of jobs are counted for each endpoint and grow with
its workers; \`GET /v2/{endpointId}/health\` shows them. All others, in each location of the network:

${describeRateLimits()}`;

function describeRateLimits(): string {
  return Object.values(EDGE_RATE_LIMITS)
    .map(({ requests, seconds, per, what }) => `- ${what}: ${requests} within ${seconds} s for one ${per}`)
    .join("\n");
}

const TAGS = [
  { name: "Jobs", description: "Run jobs on an endpoint." },
  { name: "OpenAI", description: "OpenAI's API, served by the workers of an endpoint." },
  { name: "Batches", description: "Thousands of jobs at once." },
  { name: "Load-balanced endpoints", description: "Your own HTTP routes on your own workers." },
  { name: "Endpoints", description: "Queues with their scaling." },
  { name: "Templates", description: "Settings of the containers of workers." },
  { name: "Network volumes", description: "Storage that outlives workers." },
  { name: "Registry credentials", description: "For private images." },
  { name: "Metrics", description: "Metrics for monitoring." },
  { name: "Pods", description: "Containers that run until they are stopped; logs, also of workers." },
  { name: "Billing", description: "Usage in the form of bills." },
  { name: "Costs", description: "What workers cost at the prices of their hosts, and budgets." },
  { name: "REST v2 account", description: "Public SSH keys." },
  { name: "REST v2 endpoints", description: "Endpoints with their containers, workers and releases." },
  { name: "REST v2 templates", description: "Settings of containers." },
  { name: "REST v2 network volumes", description: "Storage that outlives workers." },
  { name: "REST v2 registries", description: "Credentials for private images." },
  { name: "REST v2 catalog", description: "What there is to run on, and where." },
  { name: "REST v2 billing", description: "Usage at nominal prices." },
  { name: "REST v2 pods", description: "Containers that run until they are stopped." },
  { name: "REST v2 clusters", description: "Pods that are made and terminated together." },
  { name: "Hosts", description: "The machines that run your workers. They join with a join token." },
  { name: "Artifacts", description: "Upload and download of the packed files of flash apps." },
  { name: "agent", description: "For the agents of hosts, which authenticate with a host token." },
  { name: "This document", description: "The description of all operations." },
];

const scrapeOperation: Operation = {
  on: "GET /metrics",
  id: "scrapeMetrics",
  summary: "Metrics of the account's hosts and endpoints, for Prometheus",
  errors: [401, 500],
  responses: {
    200: {
      description: "Text exposition format, version 0.0.4.",
      content: { "text/plain": { schema: z.string() } },
    },
  },
};

const documentOperation = {
  summary: "This document",
  answer: z.object({ openapi: z.string() }).loose(),
  credential: "none",
  // A request that carries a key all the same is rejected over plain HTTP.
  errors: [403],
} as const;

const ROOT = { prefix: "", errorBody: errorBodySchema, errors: [] };

const APIS: readonly Api[] = [
  ...queueApis,
  loadBalancingApi,
  ...restV2Apis,
  ...restApis,
  artifactApi,
  agentApi,
  { ...ROOT, tag: "Metrics", operations: [scrapeOperation] },
  {
    ...ROOT,
    tag: "This document",
    operations: [
      { ...documentOperation, on: "GET /openapi.json", id: "getDocument" },
      { ...documentOperation, on: "GET /v1/openapi.json", id: "getDocumentOfRest" },
      { ...documentOperation, on: "GET /v2/openapi.json", id: "getDocumentOfRestV2" },
    ],
  },
];

const description = (apis: readonly Api[]): ZodOpenApiObject => ({
  openapi: "3.1.0",
  info: {
    title: "Edgerun",
    version: EDGERUN_VERSION,
    description: DESCRIPTION.trim(),
    license: { name: "Apache 2.0", identifier: "Apache-2.0" },
  },
  servers: [{ url: "/", description: "The origin of this document." }],
  tags: TAGS,
  security: [{ apiKey: [] }],
  components: {
    securitySchemes: {
      apiKey: { type: "http", scheme: "bearer", description: "An API key of your account." },
      hostToken: {
        type: "http",
        scheme: "bearer",
        description: "The token that a host received when it joined.",
      },
    },
  },
  paths: Object.assign({}, ...apis.map(pathsOf)),
});

/**
 * Makes the document. A published one lets answers gain members; with `isClosed` they have only the
 * described members, for tests of answers.
 */
export function makeDocument({ isClosed = false, isRestV2 = false } = {}): ReturnType<typeof createDocument> {
  return createDocument(description(isRestV2 ? restV2Apis : APIS), {
    allowEmptySchema: { custom: true },
    override: ({ jsonSchema, zodSchema, io }) => {
      const isObject = zodSchema._zod.def.type === "object";
      if (!isClosed && isObject && io === "output" && jsonSchema.additionalProperties === false) {
        delete jsonSchema.additionalProperties;
      }
      // JavaScript has no whole numbers beyond these, so they say nothing.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
}

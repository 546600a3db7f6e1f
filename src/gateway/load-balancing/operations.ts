/** Load-balanced endpoints: `/lb/{endpointId}/…`, where the routes are those of the workers. */
import * as z from "zod";
import { LOAD_BALANCED_WAIT_MS, LOAD_BALANCED_STRICT_WAIT_MS } from "./affinity.ts";
import { LOAD_BALANCED_TIME_LIMIT_MS } from "./answer.ts";
import { LOAD_BALANCED_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { loadBalancedErrorBodySchema } from "../../contract/errors.ts";
import { endpointParameter } from "../queue/route.ts";
import type { Api, Operation } from "../route.ts";

export const LOAD_BALANCED_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const minutes = (ms: number): string => `${ms / 60_000} minutes`;

const DETAILS =
  "Forwards any method, path and body to a worker's HTTP server, and streams back what the worker " +
  `answers. Bodies may have ${LOAD_BALANCED_BODY_MAX_BYTES / 1_000_000} MB each way. When no worker takes the ` +
  `request within ${minutes(LOAD_BALANCED_WAIT_MS)} the answer is 400 \`worker_timeout\`; when the worker does not begin its ` +
  `answer within ${minutes(LOAD_BALANCED_TIME_LIMIT_MS)} it is 524. WebSockets are forwarded too. The endpoint has a ` +
  "host of its own as well, where paths begin without `/lb/{endpointId}`.";

const headers = z.object({
  "X-Runpod-Worker-Id": z
    .string()
    .optional()
    .meta({
      description:
        "Asks for the worker that answered before: `<id>` if it takes requests, `strict <id>` for that one alone, " +
        `waited for up to ${minutes(LOAD_BALANCED_STRICT_WAIT_MS)}, \`strict-resume <id>\` to wake it if it was scaled down.`,
    }),
  "X-Request-Id": z
    .string()
    .optional()
    .meta({ description: "Id of the request, passed to the worker; generated when absent." }),
});

const answer = {
  description: "The answer of the worker, with its status and headers.",
  headers: z.object({
    "X-Runpod-Worker-Id": z.string().meta({ description: "The worker that answered." }),
  }),
  content: { "*/*": { schema: z.string().meta({ format: "binary" }) } },
};

const describe = (method: (typeof LOAD_BALANCED_METHODS)[number]): Operation => ({
  on: `${method} /{path}`,
  id: `${method.toLowerCase()}OfWorker`,
  summary: `${method} on a worker`,
  details: DETAILS,
  headers,
  responses: { 200: answer },
});

export const loadBalancingApi: Api = {
  prefix: "/lb/{endpointId}",
  tag: "Load-balanced endpoints",
  operations: LOAD_BALANCED_METHODS.map(describe),
  errorBody: loadBalancedErrorBodySchema,
  errors: [400, 401, 404, 413, 429, 500, 502, 524],
  params: {
    ...endpointParameter,
    path: z.string().meta({ description: "Path on the worker; may contain slashes." }),
  },
};

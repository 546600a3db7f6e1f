/** The agent API: what hosts ask of the edge. */
import * as z from "zod";
import type { ZodOpenApiPathsObject } from "zod-openapi";
import {
  exchangeReplySchema,
  exchangeRequestSchema,
  hostReplySchema,
  joinReplySchema,
  joinRequestSchema,
  syncReplySchema,
  syncRequestSchema,
  uploadParamsSchema,
  uploadReplySchema,
} from "../../../contract/agent/agent.ts";
import { sha256Schema } from "../../../contract/agent/artifact.ts";
import { logReplySchema, logRequestSchema } from "../../../contract/agent/log.ts";
import { jsonValueSchema } from "../../../json/raw-json.ts";
import { ARCHIVE } from "./artifact-paths.ts";
import { operation } from "./operation.ts";
import { endpointPath } from "./queue-paths.ts";

const TAG = "agent";
const HOST_TOKEN = { security: [{ hostToken: [] }] };

const artifact = operation(
  {
    id: "downloadArtifact",
    tag: TAG,
    summary: "The packed files of an app of the host's account",
    details: "`Range` with `If-Range` goes on where a download ended; the ETag is the SHA-256.",
    path: z.object({ sha256: sha256Schema }),
    answer: undefined,
  },
  [400, 401, 404, 500],
);

export const agentPaths: ZodOpenApiPathsObject = {
  "/agent/v1/join": {
    post: {
      ...operation(
        {
          id: "joinHost",
          tag: TAG,
          summary: "A join token, used once, becomes a host with a token of its own",
          body: joinRequestSchema,
          answer: joinReplySchema,
        },
        [400, 401, 413, 500],
      ),
      security: [],
    },
  },
  "/agent/v1/sync": {
    post: {
      ...operation(
        {
          id: "syncHost",
          tag: TAG,
          summary: "What a host has against what it should have",
          details: "Held while the two agree, for `holdMs` at most.",
          body: syncRequestSchema,
          answer: syncReplySchema,
        },
        [400, 401, 413, 500],
      ),
      ...HOST_TOKEN,
    },
  },
  "/agent/v1/host": {
    get: {
      ...operation(
        {
          id: "describeHost",
          tag: TAG,
          summary: "Who the host is, and which agents the edge knows",
          answer: hostReplySchema,
        },
        [401, 500],
      ),
      ...HOST_TOKEN,
    },
  },
  "/agent/v1/host/drain": {
    post: {
      ...operation(
        {
          id: "drainHost",
          tag: TAG,
          summary: "The host gets no new workers; those it has go, busy ones after their job",
          answer: z.object({}),
        },
        [401, 500],
      ),
      ...HOST_TOKEN,
    },
  },
  "/agent/v1/host/leave": {
    post: {
      ...operation(
        {
          id: "leaveFleet",
          tag: TAG,
          summary: "The host is none any more; its token opens nothing",
          answer: z.object({}),
        },
        [401, 500],
      ),
      ...HOST_TOKEN,
    },
  },
  "/agent/v1/artifacts/{sha256}": {
    get: { ...artifact, responses: { ...artifact.responses, ...ARCHIVE }, ...HOST_TOKEN },
  },
  "/agent/v1/logs": {
    post: {
      ...operation(
        {
          id: "sendLogs",
          tag: TAG,
          summary: "Lines of the logs of a host's workers, to be kept or for those who follow",
          details: "The body is compressed with gzip.",
          body: logRequestSchema,
          answer: logReplySchema,
        },
        [400, 401, 413, 500],
      ),
      ...HOST_TOKEN,
    },
  },
  "/agent/v1/endpoints/{endpointId}/exchange": {
    post: {
      ...operation(
        {
          id: "exchange",
          tag: TAG,
          summary: "Chunks, results and free slots in; jobs and stops out",
          details: "Held until there is something, for `holdMs` at most.",
          path: endpointPath,
          body: exchangeRequestSchema,
          answer: exchangeReplySchema,
        },
        [400, 401, 404, 413, 500],
      ),
      ...HOST_TOKEN,
    },
  },
  "/agent/v1/endpoints/{endpointId}/results/{jobId}/{attempt}": {
    put: {
      ...operation(
        {
          id: "uploadResult",
          tag: TAG,
          summary: "A large result of a running attempt, before the report that will name it",
          path: endpointPath.extend(uploadParamsSchema.extend({ attempt: z.int().positive() }).shape),
          body: jsonValueSchema,
          answer: uploadReplySchema,
        },
        [400, 401, 404, 413, 500],
      ),
      ...HOST_TOKEN,
    },
  },
};

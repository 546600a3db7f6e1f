/** The agent API, which hosts call. */
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
    summary: "Download an artifact of an app of the host's account",
    details: "`Range` with `If-Range` resumes a download; the ETag is the SHA-256.",
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
          summary: "Join as a host, with a join token that is valid once",
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
          summary: "Report the state of a host and get its assignments",
          details: "Waits while the two agree, for `holdMs` at most.",
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
          summary: "Get the id of the host and the supported agent versions",
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
          summary: "Drain this host: no new workers, and its workers stop, busy ones after their job",
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
          summary: "Remove this host and revoke its token",
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
          summary: "Send log lines of workers, to be stored or for clients that follow them",
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
          summary: "Report chunks, results and free slots, and get jobs and stops",
          details: "Waits until there is a job or a stop, for `holdMs` at most.",
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
          summary: "Upload a large result of a running attempt, before its report",
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

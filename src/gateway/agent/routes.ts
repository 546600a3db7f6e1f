/** The agent API, `/agent/v1/…`, and the files that install an agent. */
import { Hono } from "hono";
import * as z from "zod";
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
} from "../../contract/agent/agent.ts";
import { SIGNATURE_SUFFIX } from "../../contract/agent/agent-signature.ts";
import { sha256Schema } from "../../contract/agent/artifact.ts";
import { logReplySchema, logRequestSchema } from "../../contract/agent/log.ts";
import { errorBodySchema, type ErrorStatus } from "../../contract/errors.ts";
import { jsonValueSchema } from "../../json/raw-json.ts";
import { ARCHIVE_ANSWERS } from "../artifacts/archive-answers.ts";
import { endpointParameter } from "../queue/route.ts";
import { mount, type Api, type Route } from "../route.ts";
import { agentFile, installScript, sendArtifact } from "./files.ts";
import { type AgentApi, withBusyHost, withHost } from "./context.ts";
import { exchange } from "./exchange.ts";
import { describeHost, drainHost, join, leaveFleet } from "./host.ts";
import { openHostLink, openLink, openPodLink, presence } from "./sockets.ts";
import { receiveLogs } from "./logs.ts";
import { sync } from "./sync.ts";
import { uploadResult } from "./upload-result.ts";

const BODY: readonly ErrorStatus[] = [400, 413];

const JOIN: Route<AgentApi> = {
  on: "POST /join",
  id: "joinHost",
  summary: "Join as a host, with a join token that is valid once",
  body: joinRequestSchema,
  answer: joinReplySchema,
  errors: BODY,
  credential: "none",
  serve: join,
};

/** The exchange, which busy hosts call most, has a limit of its own. */
const EXCHANGE: Route<AgentApi> = {
  on: "POST /endpoints/{endpointId}/exchange",
  id: "exchange",
  summary: "Report chunks, results and free slots, and get jobs and stops",
  details: "Waits until there is a job or a stop, for `holdMs` at most.",
  params: endpointParameter,
  body: exchangeRequestSchema,
  answer: exchangeReplySchema,
  errors: [...BODY, 404],
  serve: exchange,
};

const ROUTES: readonly Route<AgentApi>[] = [
  {
    on: "POST /sync",
    id: "syncHost",
    summary: "Report the state of a host and get its assignments",
    details: "Waits while the two agree, for `holdMs` at most.",
    body: syncRequestSchema,
    answer: syncReplySchema,
    errors: BODY,
    serve: sync,
  },
  {
    on: "GET /host",
    id: "describeHost",
    summary: "Get the id of the host and the supported agent versions",
    answer: hostReplySchema,
    serve: describeHost,
  },
  {
    on: "POST /host/drain",
    id: "drainHost",
    summary: "Drain this host: no new workers, and its workers stop, busy ones after their job",
    answer: z.object({}),
    serve: drainHost,
  },
  {
    on: "POST /host/leave",
    id: "leaveFleet",
    summary: "Remove this host and revoke its token",
    answer: z.object({}),
    serve: leaveFleet,
  },
  {
    on: "GET /artifacts/{sha256}",
    id: "downloadArtifact",
    summary: "Download an artifact of an app of the host's account",
    details: "`Range` with `If-Range` resumes a download; the ETag is the SHA-256.",
    params: { sha256: sha256Schema },
    errors: [400, 404],
    responses: ARCHIVE_ANSWERS,
    serve: sendArtifact,
  },
  {
    on: "POST /logs",
    id: "sendLogs",
    summary: "Send log lines of workers, to be stored or for clients that follow them",
    details: "The body is compressed with gzip.",
    body: logRequestSchema,
    answer: logReplySchema,
    errors: BODY,
    serve: receiveLogs,
  },
  {
    on: "PUT /endpoints/{endpointId}/results/{jobId}/{attempt}",
    id: "uploadResult",
    summary: "Upload a large result of a running attempt, before its report",
    params: { ...endpointParameter, ...uploadParamsSchema.shape, attempt: z.int().positive() },
    body: jsonValueSchema,
    answer: uploadReplySchema,
    errors: [...BODY, 404],
    serve: uploadResult,
  },
];

export const agentApi: Api = {
  prefix: "/agent/v1",
  tag: "agent",
  operations: [JOIN, EXCHANGE, ...ROUTES],
  errorBody: errorBodySchema,
  errors: [401, 500],
  credential: "hostToken",
};

export function agentRoutes(): Hono<AgentApi> {
  const operations = new Hono<AgentApi>();
  mount(operations, [JOIN]);
  mount(operations, [EXCHANGE], () => [withBusyHost]);
  mount(operations, ROUTES, () => [withHost]);
  operations.get("/presence", withHost, presence);
  operations.get("/endpoints/:endpointId/link", withHost, openLink);
  operations.get("/pods/:podId/link", withHost, openPodLink);
  operations.get("/host/link", withHost, openHostLink);

  const routes = new Hono<AgentApi>();
  routes.route("/v1", operations);
  routes.get("/install.sh", installScript);
  routes.get("/edgerun-agent.mjs", agentFile);
  routes.get("/edgerun-agent.mjs.sha256", agentFile);
  routes.get(`/edgerun-agent.mjs${SIGNATURE_SUFFIX}`, agentFile);
  return routes;
}

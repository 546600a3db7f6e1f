/**
 * What workers of a preview find in the place of the service: where their peers are, and the peers themselves. They
 * reach it as workers reach an edge on their host's loopback, and with the key of their environment.
 */
import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono, type HonoRequest } from "hono";
import { ERRORS, type QueueErrorCode, errorBody } from "../../src/contract/errors.ts";
import { FLASH_ENDPOINT_HEADER, FLASH_ENDPOINT_ID } from "../../src/contract/flash/flash-names.ts";
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import { DIRECT_BODY_MAX_BYTES } from "../../src/contract/limits.ts";
import { detailResponse, answerObserved } from "../server/requests/responses.ts";
import type { CallLog, EndpointCalls, ServedEndpoint } from "../server/requests/served-app.ts";
import { readJob, readBody } from "../server/requests/request-body.ts";
import { parseOperation, searchOf } from "../server/requests/queue-call.ts";
import { endpointIdOf } from "./worker-plan.ts";

export type PeerSettings = {
  /** Of the environment. */
  readonly key: string;
  readonly manifest: FlashManifest;
  readonly endpoints: readonly ServedEndpoint[];
  readonly calls: EndpointCalls;
  readonly log: CallLog;
};

export type PeerService = { readonly url: string; close(): Promise<void> };

/** Listens on a port of loopback that the system chooses. */
export async function startPeerService(settings: PeerSettings): Promise<PeerService> {
  const listener = getRequestListener(peerApp(settings).fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => void listener(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function peerApp(settings: PeerSettings): Hono {
  const app = new Hono();
  app.use(async ({ req }, next) => {
    if (!isKey(req.header("Authorization"), settings.key))
      return refusal("unauthorized", "The key is not the one of this preview's environment.");
    return await next();
  });
  app.post("/graphql", ({ req }) => {
    return Response.json({ data: environmentOf(settings.manifest, new URL(req.url).origin) });
  });
  app.all("/v2/:id/*", async ({ req }) => {
    return await answerQueue(settings, req.raw, { ...calledBy(req), path: behind(req.path, 3) });
  });
  app.all("/lb/:id/*", async ({ req }) => {
    return await answerRoute(settings, req.raw, { ...calledBy(req), path: behind(req.path, 3) });
  });
  app.notFound(() => refusal("not_found", "A preview has endpoints, and nothing else of the service."));
  return app;
}

/** The endpoint by its id, or by its name where the id is the one that stands for all. */
function calledBy(request: HonoRequest<"/:id/*">): Omit<Called, "path"> {
  const id = request.param("id");
  return { id, name: id === FLASH_ENDPOINT_ID ? (request.header(FLASH_ENDPOINT_HEADER) ?? "") : undefined };
}

/** Whatever is asked of the two, both are told. */
function environmentOf(manifest: FlashManifest, origin: string): object {
  const names = Object.entries(manifest.resources);
  const resources_endpoints = Object.fromEntries(
    names.map(([name, { is_load_balanced: isBalanced }]) => [
      name,
      `${origin}/${isBalanced ? "lb" : "v2"}/${endpointIdOf(name)}`,
    ]),
  );
  return {
    flashEnvironment: { activeBuildId: "preview" },
    flashBuild: { manifest: { ...manifest, resources_endpoints } },
  };
}

type Called = { readonly id: string; readonly name?: string | undefined; readonly path: string };

async function answerQueue(settings: PeerSettings, request: Request, called: Called): Promise<Response> {
  const endpoint = endpointOf(settings, called);
  if (endpoint === undefined) return unknown(called);
  const asked = parseOperation(called.path);
  if (asked === undefined || endpoint.resource.is_load_balanced)
    return refusal("not_found", `${endpoint.name} has no operation ${request.method} ${called.path}.`);
  const line = settings.log.begin({ method: request.method, path: `/${endpoint.name}${called.path}` });
  return await answerObserved(line, request, async () => {
    const { operation, jobId, bodyMaxBytes } = asked;
    const call = {
      operation,
      jobId,
      ...(bodyMaxBytes !== undefined && { job: readJob(await readBody(request, bodyMaxBytes)) }),
      search: searchOf(asked, new URL(request.url).search),
      headers: Object.fromEntries(request.headers),
      signal: request.signal,
    };
    return await settings.calls.queue(endpoint, call, line);
  });
}

async function answerRoute(settings: PeerSettings, request: Request, called: Called): Promise<Response> {
  const endpoint = endpointOf(settings, called);
  if (endpoint?.resource.is_load_balanced !== true) return unknown(called);
  const line = settings.log.begin({ method: request.method, path: `/${endpoint.name}${called.path}` });
  return await answerObserved(line, request, async () => {
    const { method, headers, signal, url } = request;
    const body = await readBody(request, DIRECT_BODY_MAX_BYTES);
    const whole = new Request(url, { method, headers, signal, ...(body !== undefined && { body }) });
    return await settings.calls.route(endpoint, whole, called.path, line);
  });
}

function endpointOf({ endpoints }: PeerSettings, { id, name }: Called): ServedEndpoint | undefined {
  return endpoints.find((one) => one.name === name || endpointIdOf(one.name) === id);
}

function unknown({ id, name = id }: Called): Response {
  return refusal("endpoint_not_found", `There is no endpoint ${name} in this preview.`);
}

function refusal(code: QueueErrorCode, message: string): Response {
  const status = ERRORS[code].status;
  return code === "not_found"
    ? detailResponse(status, message)
    : Response.json(errorBody(code, message), { status });
}

/** Path behind its first parts, with the slash. */
function behind(path: string, parts: number): string {
  return `/${path.split("/").slice(parts).join("/")}`;
}

function isKey(header: string | undefined, key: string): boolean {
  const given = Buffer.from(header?.replace(/^Bearer\s+/i, "") ?? "");
  const expected = Buffer.from(key);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

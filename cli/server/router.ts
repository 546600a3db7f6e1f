/** The routes of the local server, whatever stands behind its endpoints. */
import { Hono } from "hono";
import { detailResponse, methodResponse } from "./requests/responses.ts";
import type { CallLog } from "./requests/call-log.ts";
import { resolveEndpoint, unknownEndpoint } from "./requests/called-endpoint.ts";
import { explorerFile, EXPLORER_PATHS } from "./explorer-files.ts";
import { isOwnHost, isOwnOrigin } from "./host-names.ts";
import { answerOfError } from "./requests/observed-call.ts";
import { answerOpenAiCall, isOpenAiCall } from "./requests/openai-call.ts";
import { openApiDocument } from "./open-api/document.ts";
import { answerQueueCall } from "./requests/queue-call.ts";
import { answerRouteCall } from "./requests/route-call.ts";
import type { EndpointCalls, ServedApp } from "./requests/served-app.ts";
import { FLASH_VERSION } from "../core/version.ts";

/** Names the endpoint where the address says `flash`, as the service has it. */
const ENDPOINT_HEADER = "X-Flash-Endpoint";

export type LocalAppSettings = {
  readonly app: ServedApp;
  readonly calls: EndpointCalls;
  readonly log: CallLog;
  /** What it listens on, as the person has named it. */
  readonly host: string;
};

export function localApp(settings: LocalAppSettings): Hono {
  const { app, host } = settings;
  const hono = new Hono();
  hono.use(async ({ req }, next) => {
    const refused = foreignCaller(req.raw, host);
    if (refused !== undefined) return refused;
    return await next();
  });
  const pages: Readonly<Record<string, () => Response | Promise<Response>>> = {
    "/": () => Response.json({ status: "healthy", message: `${app.name} is served here.`, docs: "/docs" }),
    "/ping": () => Response.json({ status: "healthy" }),
    "/openapi.json": async () =>
      Response.json(openApiDocument(app.name, FLASH_VERSION, await app.endpoints())),
    ...Object.fromEntries(EXPLORER_PATHS.map((path) => [path, () => explorerFile(path)])),
  };
  for (const [path, page] of Object.entries(pages)) {
    hono.get(path, page);
    hono.all(path, ({ req }) => methodResponse(req.method, ["GET"]));
  }
  hono.all("*", async ({ req }) => await answerCall(settings, req.raw));
  hono.onError((error) => answerOfError(error));
  return hono;
}

async function answerCall({ app, calls, log }: LocalAppSettings, request: Request): Promise<Response> {
  const endpoints = await app.endpoints();
  const { pathname } = new URL(request.url);
  if (isOfForeignPage(request))
    return detailResponse(
      403,
      "Pages of other sites may not call this server, and links there lead to no call.",
    );
  const called = resolveEndpoint(endpoints, pathname, request.headers.get(ENDPOINT_HEADER));
  if (called === undefined) return unknownEndpoint(endpoints, pathname, app.problems).answer();
  const { endpoint, path } = called;
  const call = { endpoint, path, request, calls, log };
  if (isOpenAiCall(call)) return await answerOpenAiCall(call);
  return endpoint.resource.is_load_balanced ? await answerRouteCall(call) : await answerQueueCall(call);
}

/** Where a page only shows an image or follows a link, browsers tell no Origin, but this. */
function isOfForeignPage({ headers }: Request): boolean {
  return !headers.has("origin") && headers.get("sec-fetch-site") === "cross-site";
}

/** Pages of other sites, in the person's own browser, must not start jobs. */
function foreignCaller({ headers }: Request, host: string): Response | undefined {
  const called = headers.get("host") ?? undefined;
  if (!isOwnHost(called, host)) {
    const advice = `Call it as localhost, or name this host with --host.`;
    return detailResponse(403, `This server is not called ${JSON.stringify(called ?? "")}. ${advice}`);
  }
  const origin = headers.get("origin");
  if (origin === null || isOwnOrigin(origin, called, host)) return undefined;
  return detailResponse(403, `Pages of ${origin} may not call this server.`);
}

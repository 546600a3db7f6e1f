/** The routes of the local server, whatever stands behind its endpoints. */
import { Hono } from "hono";
import { detailResponse, methodResponse, answerOfError, RequestError } from "./requests/responses.ts";
import type { CallLog, EndpointCalls, ServedApp, ServedEndpoint } from "./requests/served-app.ts";
import { explorerFile, EXPLORER_PATHS } from "./explorer-files.ts";
import { isOwnHost, isOwnOrigin } from "./host-names.ts";
import { answerOpenAiCall, isOpenAiCall, answerQueueCall } from "./requests/queue-call.ts";
import { openApiDocument } from "./open-api/document.ts";
import { answerRouteCall } from "./requests/route-call.ts";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";

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
      Response.json(openApiDocument(app.name, EDGERUN_VERSION, await app.endpoints())),
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

/** First part of the addresses of the service, and an endpoint that its headers name. */
const SERVICE_PREFIX = "v2";
const NAMED_BY_HEADER = "flash";

/** The endpoint, and the path behind its name with its slash; undefined where there is none of this name. */
export type Called = { readonly endpoint: ServedEndpoint; readonly path: string };

/** Reads `/<endpoint>/…` and `/v2/<endpoint>/…`; a name in the header stands for the endpoint `flash`. */
export function resolveEndpoint(
  endpoints: readonly ServedEndpoint[],
  pathname: string,
  nameInHeader: string | null,
): Called | undefined {
  const parts = pathname.split("/").slice(1);
  const starts = parts[0] === SERVICE_PREFIX ? [1, 0] : [0];
  for (const start of starts) {
    const written = parts[start] ?? "";
    const name = written === NAMED_BY_HEADER && nameInHeader !== null ? nameInHeader : written;
    const endpoint = endpoints.find((one) => one.name === name);
    if (endpoint !== undefined) return { endpoint, path: `/${parts.slice(start + 1).join("/")}` };
  }
  return undefined;
}

/** Why there is no such endpoint. */
export function unknownEndpoint(
  endpoints: readonly ServedEndpoint[],
  pathname: string,
  problems: readonly string[] = [],
): RequestError {
  const [first = "", second = ""] = pathname.split("/").slice(1);
  const name = first === SERVICE_PREFIX && second !== "" ? second : first;
  const names = endpoints.map((one) => one.name).toSorted();
  const available = names.length === 0 ? "The app has none." : `The app has ${names.join(", ")}.`;
  const missing = `There is no endpoint ${JSON.stringify(name)}`;
  if (problems.length === 0) return new RequestError(404, `${missing}. ${available}`);
  return new RequestError(503, `${missing}, as far as the app can be read: ${problems.join("\n")}`);
}

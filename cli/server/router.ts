/** Routes of the local server. */
import { Hono } from "hono";
import { detailResponse, methodResponse, answerOfError, RequestError } from "./requests/responses.ts";
import type { CallLog, EndpointCalls, ServedApp, ServedEndpoint } from "./requests/served-app.ts";
import { explorerFile, EXPLORER_PATHS } from "./explorer-files.ts";
import { isOwnHost, isOwnOrigin } from "./host-names.ts";
import { answerOpenAiCall, isOpenAiCall, answerQueueCall } from "./requests/queue-call.ts";
import { openApiDocument } from "./open-api/document.ts";
import { answerRouteCall } from "./requests/route-call.ts";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";

/** Names the endpoint when the path has `flash` in its place, as on the service. */
const ENDPOINT_HEADER = "X-Flash-Endpoint";

export type LocalAppSettings = {
  readonly app: ServedApp;
  readonly calls: EndpointCalls;
  readonly log: CallLog;
  /** Listening host, as given by the user. */
  readonly host: string;
};

export function localApp(settings: LocalAppSettings): Hono {
  const { app, host } = settings;
  const hono = new Hono();
  hono.use(async ({ req }, next) => {
    const rejection = foreignCaller(req.raw, host);
    if (rejection !== undefined) return rejection;
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
    return detailResponse(403, "Pages and links of other sites may not call this server.");
  const called = resolveEndpoint(endpoints, pathname, request.headers.get(ENDPOINT_HEADER));
  if (called === undefined) return unknownEndpoint(endpoints, pathname, app.problems).answer();
  const { endpoint, path } = called;
  const call = { endpoint, path, request, calls, log };
  if (isOpenAiCall(call)) return await answerOpenAiCall(call);
  return endpoint.resource.is_load_balanced ? await answerRouteCall(call) : await answerQueueCall(call);
}

/** Images and links of other pages: browsers send no Origin for them, but this header. */
function isOfForeignPage({ headers }: Request): boolean {
  return !headers.has("origin") && headers.get("sec-fetch-site") === "cross-site";
}

/** Rejects other host names and pages of other sites, which must not start jobs. */
function foreignCaller({ headers }: Request, host: string): Response | undefined {
  const called = headers.get("host") ?? undefined;
  if (!isOwnHost(called, host)) {
    const advice = `Call it as localhost, or set this host with --host.`;
    return detailResponse(
      403,
      `This server does not accept the host ${JSON.stringify(called ?? "")}. ${advice}`,
    );
  }
  const origin = headers.get("origin");
  if (origin === null || isOwnOrigin(origin, called, host)) return undefined;
  return detailResponse(403, `Pages of ${origin} may not call this server.`);
}

/** First part of paths of the service, and the placeholder for an endpoint that a header names. */
const SERVICE_PREFIX = "v2";
const NAMED_BY_HEADER = "flash";

/** An endpoint, and the path after its name with the leading slash. */
export type Called = { readonly endpoint: ServedEndpoint; readonly path: string };

/** Reads `/<endpoint>/…` and `/v2/<endpoint>/…`; a name in the header replaces `flash`. Undefined for unknown names. */
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

/** The error for an unknown endpoint. */
function unknownEndpoint(
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

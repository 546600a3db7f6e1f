/** Calls of the routes of load-balanced endpoints. */
import { LOAD_BALANCED_BODY_MAX_BYTES } from "../../../src/contract/limits.ts";
import { RequestError, methodResponse, answerObserved } from "./responses.ts";
import type { Call } from "./queue-call.ts";
import { wholeRequest } from "./request-body.ts";
import type { ServedEndpoint } from "./served-app.ts";
import type { ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";

/** Answered by every worker, even without a declared route. */
const HEALTH = { method: "GET", path: "/ping" };

export async function answerRouteCall({ endpoint, request, path, calls, log }: Call): Promise<Response> {
  const { pathname } = new URL(request.url);
  const routes = [...routesOf(endpoint.resource), HEALTH];
  const methods = methodsOf(routes, path);
  const method = request.method === "HEAD" && !methods.includes("HEAD") ? "GET" : request.method;
  if (declaresRoutes(endpoint) && methods.length > 0 && !methods.includes(method))
    return methodResponse(request.method, methods);
  const line = log.begin({ method: request.method, path: pathname, endpoint: endpoint.name });
  return await answerObserved(line, request, async () => {
    if (endpoint.problem !== undefined)
      throw new RequestError(503, `${endpoint.name} cannot be called now: ${endpoint.problem}`);
    if (declaresRoutes(endpoint) && methods.length === 0) throw unknownRoute(endpoint, request.method, path);
    return await calls.route(endpoint, await wholeRequest(request, LOAD_BALANCED_BODY_MAX_BYTES), path, line);
  });
}

/** Endpoints with their own image declare no routes. */
function declaresRoutes({ resource }: ServedEndpoint): boolean {
  return resource.client_mode !== true && resource.functions.length > 0;
}

function unknownRoute({ name, resource }: ServedEndpoint, method: string, path: string): RequestError {
  const routes = routesOf(resource).map((route) => `${route.method} ${route.path}`);
  return new RequestError(404, `${name} has no route ${method} ${path}. Its routes: ${routes.join(", ")}.`);
}

type DeclaredRoute = { readonly method: string; readonly path: string };

const PARAMETER = /\{[A-Za-z_]\w*\}/;

/** The routes of an endpoint, in the order of their declaration. */
export function routesOf(resource: ManifestResource): readonly DeclaredRoute[] {
  return resource.functions.flatMap(({ http_method: method, http_path: path }) =>
    method && path ? [{ method: method.toUpperCase(), path }] : [],
  );
}

/** The methods of a path; none where it is unknown. Ignores a trailing slash. */
export function methodsOf(routes: readonly DeclaredRoute[], path: string): readonly string[] {
  const found = methodsOfExactly(routes, path);
  if (found.length > 0 || path === "/") return found;
  return methodsOfExactly(routes, path.endsWith("/") ? path.slice(0, -1) : `${path}/`);
}

function methodsOfExactly(routes: readonly DeclaredRoute[], path: string): readonly string[] {
  const fitting = routes.filter((route) => fits(route.path, path));
  return [...new Set(fitting.map(({ method }) => method))].toSorted();
}

/** `{id}` matches any string without a slash, as it was received; a path without parameters is compared decoded. */
function fits(declared: string, path: string): boolean {
  if (!PARAMETER.test(declared)) return declared === decoded(path);
  const [expected, actual] = [declared.split("/"), path.split("/")];
  return (
    expected.length === actual.length &&
    expected.every((segment, index) => fitsSegment(segment.split(PARAMETER), actual[index] ?? ""))
  );
}

/** Whether a segment consists of these literals in order, with at least one character between each two. */
function fitsSegment([first = "", ...others]: readonly string[], given: string): boolean {
  const last = others.pop();
  if (last === undefined) return given === first;
  if (!given.startsWith(first)) return false;
  let end = first.length;
  for (const literal of others) {
    const at = given.indexOf(literal, end + 1);
    if (at < 0) return false;
    end = at + literal.length;
  }
  return given.endsWith(last) && given.length - last.length > end;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

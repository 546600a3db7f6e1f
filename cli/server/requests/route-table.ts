/** Which route of a load-balanced endpoint a request is for, by the rules of the workers' own server. */
import type { ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";

export type DeclaredRoute = { readonly method: string; readonly path: string };

const PARAMETER = /\{[A-Za-z_]\w*\}/;

/** The routes of an endpoint, in the order of their declaration. */
export function routesOf(resource: ManifestResource): readonly DeclaredRoute[] {
  return resource.functions.flatMap(({ http_method: method, http_path: path }) =>
    method && path ? [{ method: method.toUpperCase(), path }] : [],
  );
}

/** The methods that a path has; none where it is unknown. A slash at its end is passed over. */
export function methodsOf(routes: readonly DeclaredRoute[], path: string): readonly string[] {
  const found = methodsOfExactly(routes, path);
  if (found.length > 0 || path === "/") return found;
  return methodsOfExactly(routes, path.endsWith("/") ? path.slice(0, -1) : `${path}/`);
}

function methodsOfExactly(routes: readonly DeclaredRoute[], path: string): readonly string[] {
  const fitting = routes.filter((route) => fits(route.path, path));
  return [...new Set(fitting.map(({ method }) => method))].toSorted();
}

/** `{id}` is any text without a slash, as it came; a path without such parts may be written in any encoding. */
function fits(declared: string, path: string): boolean {
  if (!PARAMETER.test(declared)) return declared === decoded(path);
  const [expected, actual] = [declared.split("/"), path.split("/")];
  return (
    expected.length === actual.length &&
    expected.every((segment, index) => fitsSegment(segment.split(PARAMETER), actual[index] ?? ""))
  );
}

/** Whether a segment holds these texts in their order, with at least one character between each two. */
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

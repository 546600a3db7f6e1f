/** Which endpoint an address is of. */
import { RequestError } from "./responses.ts";
import type { ServedEndpoint } from "./served-app.ts";

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

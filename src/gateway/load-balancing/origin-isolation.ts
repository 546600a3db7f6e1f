/**
 * Confines the effects of a worker's answer in a browser to its endpoint.
 *
 * P1  On the endpoint's own host a cookie is for that host, not for the suffix, which other endpoints share.
 * P2  Below a path of the API's host a cookie is for that path, headers that apply to the whole origin are removed, and
 *     a page is sandboxed: the API, its pages and other endpoints share the host.
 */
import type { HeaderList } from "./headers.ts";

/** Headers that apply to a whole origin, most of them for long. */
const ORIGIN_WIDE_HEADERS = new Set([
  "alt-svc",
  "clear-site-data",
  "nel",
  "public-key-pins",
  "report-to",
  "service-worker-allowed",
  "strict-transport-security",
]);

/** `prefix`: the path in front of the worker's; empty on the endpoint's own host. */
export function isolateHeaders(headers: HeaderList, prefix: string): [string, string][] {
  const isShared = prefix !== "";
  const isolated = headers
    .filter(([name]) => !isShared || !ORIGIN_WIDE_HEADERS.has(name.toLowerCase()))
    .map(([name, value]): [string, string] => [
      name,
      name.toLowerCase() === "set-cookie" ? isolateCookie(value, prefix) : value,
    ]);
  // A second policy can only tighten the worker's own.
  return isShared ? [...isolated, ["content-security-policy", "sandbox"]] : isolated;
}

function isolateCookie(cookie: string, prefix: string): string {
  const [pair = "", ...attributes] = cookie.split(";");
  const others = attributes.filter((attribute) => nameOf(attribute) !== "domain"); // P1
  if (prefix === "") return [pair, ...others].join(";");
  const path = attributes.findLast((attribute) => nameOf(attribute) === "path");
  const requestedPath = path?.slice(path.indexOf("=") + 1).trim() ?? "";
  const own = others.filter((attribute) => nameOf(attribute) !== "path");
  return [pair, ...own, ` Path=${pathBelow(prefix, requestedPath)}`].join(";"); // P2
}

function pathBelow(prefix: string, path: string): string {
  if (path === prefix || path.startsWith(`${prefix}/`)) return path;
  return path.startsWith("/") ? prefix + path : `${prefix}/`;
}

function nameOf(attribute: string): string {
  return attribute.split("=", 1)[0]?.trim().toLowerCase() ?? "";
}

import { isLoopbackHost, isInsecureUrl } from "../../src/net/public-host.ts";
import { trimEndOf } from "../../src/net/trimming.ts";
import { Failure } from "../../src/std/failure.ts";

/** Where `npm start` listens. */
export const DEFAULT_URL = "http://127.0.0.1:8787";

/** Whether the URL leads to this computer. */
export function isLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

/** The URL without a trailing slash; throws a Failure that names `source`. */
export function parseServiceUrl(value: string, source: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    const quoted = JSON.stringify(withoutLogin(value));
    throw new Failure(`The URL of the service is invalid: ${quoted} (${source}).`, [
      "It looks like https://edge.example or http://127.0.0.1:8787.",
    ]);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new Failure(`The URL of the service (${source}) may have only a host, a port and a path.`);
  }
  return url.origin + trimEndOf(url.pathname, "/");
}

function withoutLogin(url: string): string {
  const [from, to] = [url.indexOf("//"), url.lastIndexOf("@")];
  return from < 0 || to < from ? url : `${url.slice(0, from)}//…${url.slice(to)}`;
}

/** Throws a Failure where a key would cross a network unencrypted. */
export function requireSecureUrl(url: string): void {
  if (!isInsecureUrl(new URL(url))) return;
  throw new Failure(`${url} is not safe: without https the API key could be read on the way.`, [
    "Use an https URL, or --insecure if you trust the network.",
  ]);
}

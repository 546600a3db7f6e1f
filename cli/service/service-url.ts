import { isLoopbackHost, isInsecureUrl } from "../../src/net/public-host.ts";
import { trimEndOf } from "../../src/net/trimming.ts";
import { Failure } from "../core/failure.ts";

/** Where `npm start` listens. */
export const DEFAULT_URL = "http://127.0.0.1:8787";

/** Whether it is an address of this very computer. */
export function isLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

/** The address without a slash at its end; throws a Failure that names where it came from. */
export function parseServiceUrl(value: string, source: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    const quoted = JSON.stringify(withoutLogin(value));
    throw new Failure(`The address of the service is not one: ${quoted} (${source}).`, [
      "It looks like https://edge.example or http://127.0.0.1:8787.",
    ]);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new Failure(`The address of the service (${source}) may hold a host, a port and a path only.`);
  }
  return url.origin + trimEndOf(url.pathname, "/");
}

function withoutLogin(url: string): string {
  const [from, to] = [url.indexOf("//"), url.lastIndexOf("@")];
  return from < 0 || to < from ? url : `${url.slice(0, from)}//…${url.slice(to)}`;
}

/** Refuses to send a key in the clear over a network. */
export function requireSecureUrl(url: string): void {
  if (!isInsecureUrl(new URL(url))) return;
  throw new Failure(`${url} is not safe: without https anybody on the way could read the API key.`, [
    "Use an https address, or give --insecure if you trust the network.",
  ]);
}

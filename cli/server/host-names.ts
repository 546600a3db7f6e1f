/**
 * Host names by which the local server may be called. DNS rebinding, a name of another site that resolves to this
 * computer, is thereby rejected.
 */
import { isIP } from "node:net";
import { hostname as nameOfThisComputer } from "node:os";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "::1"]);
/** Listening hosts that mean all addresses of this computer. */
const WILDCARDS = new Set(["0.0.0.0", "::", ""]);

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || (isIP(host) === 4 && host.startsWith("127."));
}

export function isWildcard(host: string): boolean {
  return WILDCARDS.has(host);
}

/** Whether a `Host` header names the server that listens on `listenHost`. */
export function isOwnHost(header: string | undefined, listenHost: string): boolean {
  const name = header === undefined ? undefined : nameIn(`http://${header}`);
  return name !== undefined && isOwnName(name, listenHost);
}

/** Whether a page from this `Origin` may call the server: it is served by this computer, too. */
export function isOwnOrigin(origin: string, header: string | undefined, listenHost: string): boolean {
  const name = nameIn(origin);
  return name !== undefined && (name === nameIn(`http://${header ?? ""}`) || isNamed(name, listenHost));
}

function isOwnName(name: string, listenHost: string): boolean {
  if (isNamed(name, listenHost)) return true;
  // IP addresses cannot be rebound.
  return isWildcard(listenHost) && (isIP(name) !== 0 || name === nameOfThisComputer().toLowerCase());
}

function isNamed(name: string, listenHost: string): boolean {
  return LOOPBACK.has(name) || name === listenHost.toLowerCase();
}

function nameIn(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  return hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "") || undefined;
}

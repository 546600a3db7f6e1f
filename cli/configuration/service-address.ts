import { isLoopbackHost, isReadableOnTheWay } from "../../src/contract/plain-http.ts";
import { trimEndOf } from "../../src/contract/trimming.ts";
import { Failure } from "../failure.ts";

/** Where `npm start` listens. */
export const DEFAULT_ADDRESS = "http://127.0.0.1:8787";

/** Whether it is an address of this very computer. */
export function isLoopback(address: string): boolean {
  return isLoopbackHost(new URL(address).hostname);
}

/** The address without a slash at its end; throws a Failure that names where it came from. */
export function readAddress(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    const shown = JSON.stringify(withoutLogin(text));
    throw new Failure(`The address of the service is not one: ${shown} (${source}).`, [
      "It looks like https://edge.example or http://127.0.0.1:8787.",
    ]);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new Failure(`The address of the service (${source}) may hold a host, a port and a path only.`);
  }
  return url.origin + trimEndOf(url.pathname, "/");
}

function withoutLogin(text: string): string {
  const [from, to] = [text.indexOf("//"), text.lastIndexOf("@")];
  return from < 0 || to < from ? text : `${text.slice(0, from)}//…${text.slice(to)}`;
}

/** Refuses to send a key in the clear over a network. */
export function checkSafe(address: string): void {
  if (!isReadableOnTheWay(new URL(address))) return;
  throw new Failure(`${address} is not safe: without https anybody on the way could read the API key.`, [
    "Use an https address, or give --insecure if you trust the network.",
  ]);
}

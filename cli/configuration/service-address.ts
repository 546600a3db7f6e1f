import { Failure } from "../failure.ts";

/** Where `npm start` listens. */
export const DEFAULT_ADDRESS = "http://127.0.0.1:8787";

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** The address without a slash at its end; throws a Failure that names where it came from. */
export function readAddress(text: string, source: string): string {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    const shown = JSON.stringify(text.replace(/\/\/.*@/, "//…@"));
    throw new Failure(`The address of the service is not one: ${shown} (${source}).`, [
      "It looks like https://edge.example or http://127.0.0.1:8787.",
    ]);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new Failure(`The address of the service (${source}) may hold a host, a port and a path only.`);
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Refuses to send a key in the clear over a network. */
export function checkSafe(address: string): void {
  const { protocol, hostname } = new URL(address);
  if (protocol === "https:" || LOOPBACK.test(hostname)) return;
  throw new Failure(`${address} is not safe: without https anybody on the way could read the API key.`, [
    "Use an https address, or give --insecure if you trust the network.",
  ]);
}

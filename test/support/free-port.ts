import { randomInt } from "node:crypto";
import getPort from "get-port";

/**
 * Below the ephemeral ports, which the system could assign to another process before Edgerun has started;
 * and above 10080, the last of the ports that `fetch` refuses to call (https://fetch.spec.whatwg.org/#port-blocking).
 */
const PORTS = { from: 10_081, end: 32_768 };

export function freePort(): Promise<number> {
  return getPort({ host: "127.0.0.1", port: randomInt(PORTS.from, PORTS.end) });
}

/** A request as the script gets it: what its client does later reaches the script over the network. */
import { place } from "../world/globals.ts";
import type { Machine } from "../world/world.ts";
import { transferred } from "./transferred-stream.ts";
import type { Network } from "./network.ts";

/** To workers of load-balanced endpoints, and to pods. */
function isForwarded({ url }: Request): boolean {
  const { pathname } = new URL(url);
  return pathname.startsWith("/lb/") || pathname.startsWith("/pods/");
}

/** The answer comes piece by piece, for as long as its client is there. */
export function isStreamed(request: Request): boolean {
  return isForwarded(request) || request.headers.get("accept") === "text/event-stream";
}

/** Of other requests nothing depends on whether their client is still there. */
export function clientRequest(network: Network, script: Machine, request: Request): Request {
  if (!isStreamed(request)) return request;
  const gone = new AbortController();
  const leave = (): void =>
    void network.world.schedule(script, network.delay(), "client is gone", () => gone.abort());
  if (request.signal.aborted) leave();
  request.signal.addEventListener("abort", leave, { once: true });
  const { method, headers, body } = request;
  const from = (place()?.machine ?? script) as Machine;
  const passed = body && transferred({ network, source: body, from, to: script });
  const init = { method, headers, body: passed, duplex: "half", signal: gone.signal };
  return new Request(request.url, init as RequestInit);
}

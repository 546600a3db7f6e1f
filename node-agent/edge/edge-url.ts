/** Which addresses of an edge an agent speaks to. */
import { trimEndOf } from "../../src/net/trimming.ts";
import { ALLOW_PLAIN_HTTP_VARIABLE, isInsecureUrl } from "../../src/net/public-host.ts";
import { EXIT_FATAL, Failure } from "../../src/std/failure.ts";

/** What allows an address without HTTPS, as the service has its settings in the environment. */
export const ALLOWS_PLAIN_HTTP_BY_DEFAULT = process.env[ALLOW_PLAIN_HTTP_VARIABLE] === "true";

/**
 * The address without a trailing slash. Throws a Failure if it is not an address, or if others could read the host's
 * token, the secrets of workers and the agent itself in transit.
 */
export function checkedEdgeUrl(url: string, allowsPlainHttp: boolean): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    const message = `The address of the edge is not one: ${JSON.stringify(url)}.`;
    throw new Failure(message, ["Write it as https://edge.example."], EXIT_FATAL);
  }
  if (!allowsPlainHttp && isInsecureUrl(new URL(url))) throw plainHttp(url);
  return trimEndOf(url, "/");
}

function plainHttp(url: string): Failure {
  return new Failure(
    `${url} is not safe: without https others can read this host's token and the secrets of its workers, and change what it runs.`,
    [
      `Use an https address, or give --allow-plain-http (${ALLOW_PLAIN_HTTP_VARIABLE}=true) if you trust the network.`,
    ],
    EXIT_FATAL,
  );
}

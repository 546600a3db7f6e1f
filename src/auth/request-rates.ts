/**
 * Limits of requests that no object counts; see contract/rate-limits.ts.
 *
 * R1  An isolate counts for itself, and reports each twentieth request to the binding of the platform, which counts for
 *     all isolates of a location: each of them lets at most 19 requests pass that the others do not see.
 * R2  A binding that is missing or fails refuses no request; the isolate's own count still does.
 */
import { ServiceError } from "../contract/errors.ts";
import {
  EDGE_RATE_LIMITS,
  rateLimitBinding,
  REQUESTS_PER_REPORT,
  type EdgeLimited,
} from "../contract/rate-limits.ts";
import { clientNetwork, CountedWindows } from "../domain/limits/counted-windows.ts";
import { clientAddress, type ClientAddressEnv } from "./client-address.ts";

/** The bindings that count; each may be missing. */
export type RateEnv = { readonly [Limited in EdgeLimited as `RATE_LIMIT_${Uppercase<Limited>}`]?: RateLimit };

const NAMES_MAX = 20_000;

const windows = new Map(
  Object.entries(EDGE_RATE_LIMITS).map(([limited, { seconds }]) => [
    limited,
    new CountedWindows(seconds * 1_000, NAMES_MAX),
  ]),
);

/** Counts a request of `name`; throws rate_limited when it is one too many. */
export async function countRequest(
  env: RateEnv,
  limited: EdgeLimited,
  name: string,
  now: number,
): Promise<void> {
  refuseExhausted(limited, name, now);
  if (await isOneTooMany(env, limited, name, now)) {
    windowsOf(limited).exhaust(name, now);
    refuseExhausted(limited, name, now);
  }
}

/** The same for what is counted afterwards: refuses a caller that has used up the limit, and counts nothing. */
export function refuseExhausted(limited: EdgeLimited, name: string, now: number): void {
  const counter = windowsOf(limited);
  if (!counter.isExhausted(name, now)) return;
  throw rateLimited(limited, Math.ceil(counter.endsInMs(now) / 1_000));
}

function rateLimited(limited: EdgeLimited, retryAfterSeconds: number): ServiceError {
  const { requests, seconds, per, what } = EDGE_RATE_LIMITS[limited];
  const message =
    `Too many requests: ${requests} ${what} within ${seconds} seconds are the limit of one ${per}. ` +
    `Try again in ${retryAfterSeconds} s.`;
  return new ServiceError("rate_limited", message, { retryAfterSeconds });
}

/** Counts what turned out to be wrong: the next one is refused when it was the last that may be. */
export async function countFailure(
  env: RateEnv,
  limited: EdgeLimited,
  name: string,
  now: number,
): Promise<void> {
  if (await isOneTooMany(env, limited, name, now)) windowsOf(limited).exhaust(name, now);
}

/** The network by which a request without a key is counted; undefined where its origin is unknown. */
export function networkOf(env: ClientAddressEnv, request: Request): string | undefined {
  const address = clientAddress(env, request);
  return address === null ? undefined : clientNetwork(address);
}

async function isOneTooMany(env: RateEnv, limited: EdgeLimited, name: string, now: number): Promise<boolean> {
  const count = windowsOf(limited).count(name, now);
  if (count > EDGE_RATE_LIMITS[limited].requests) return true;
  if (count % REQUESTS_PER_REPORT !== 0) return false; // R1
  const verdict = await env[rateLimitBinding(limited)]?.limit({ key: name }).catch(() => undefined);
  return verdict?.success === false; // R2
}

function windowsOf(limited: EdgeLimited): CountedWindows {
  const found = windows.get(limited);
  if (found === undefined) throw new Error(`no windows for ${limited}`);
  return found;
}

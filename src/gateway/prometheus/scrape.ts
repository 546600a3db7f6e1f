/**
 * `GET /metrics`: the metrics of an account for Prometheus.
 *
 * Fleet knows which endpoints are active; only their objects are called, and idle ones keep hibernating. Answers are
 * cached for some seconds, so several scrapers cost as much as one.
 */
import type { Context } from "hono";
import { missingEndpointAccess, missingManagementAccess } from "../../auth/access.ts";
import { authenticate, callerName, type Principal } from "../../auth/principal.ts";
import { countRequest, networkOf } from "../../auth/request-rates.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import { EXPOSITION_TYPE } from "../../domain/metrics/exposition.ts";
import type { Env } from "../../env.ts";
import type { EndpointSnapshot } from "../../fleet/fleet-snapshot.ts";
import { ServiceError } from "../../contract/errors.ts";
import { endpointObject, fleetObject, ENDPOINT_CALLS_CONCURRENT_MAX } from "../../management/objects.ts";
import { exposeAccount, type MeasuredEndpoint } from "./families.ts";

/** Endpoints whose objects one scrape calls; those with most workers first. */
const SCRAPE_ENDPOINTS_MAX = 200;

/** Cache TTL of metrics in one edge location. */
const SCRAPE_CACHE_MS = 10_000;

/** In characters. */
const CACHE_MAX_WEIGHT = 4_000_000;
const answers = new BoundedMap<{ readonly text: string; readonly until: number }>(
  CACHE_MAX_WEIGHT,
  ({ text }) => text.length,
);

export async function scrape(context: Context<{ Bindings: Env }>): Promise<Response> {
  const { env } = context;
  const now = Date.now();
  const header = context.req.header("Authorization");
  const principal = await authenticate(env, header, now, networkOf(env, context.req.raw));
  if (principal.kind === "unauthorized") throw new ServiceError("unauthorized", principal.message);
  await countRequest(env, "scrape", callerName(principal), now);
  const lack = missingManagementAccess(principal, "read");
  if (lack !== undefined) throw new ServiceError("insufficient_permission", lack);
  return context.body(await answerFor(env, principal), 200, { "Content-Type": EXPOSITION_TYPE });
}

async function answerFor(env: Env, principal: Principal): Promise<string> {
  const now = Date.now();
  const who = `${principal.accountId} ${JSON.stringify(principal.permissions)}`;
  const cached = answers.get(who);
  if (cached && now < cached.until) return cached.text;
  const text = await measure(env, principal);
  answers.set(who, { text, until: now + SCRAPE_CACHE_MS });
  return text;
}

async function measure(env: Env, principal: Principal): Promise<string> {
  const { hosts, pods, endpoints } = await fleetObject(env, principal.accountId).snapshot(
    principal.accountId,
  );
  const readable = endpoints
    .filter(({ endpointId }) => missingEndpointAccess(principal, endpointId, "read") === undefined)
    .toSorted((a, b) => workersOf(b) - workersOf(a) || a.endpointId.localeCompare(b.endpointId));
  const measured: MeasuredEndpoint[] = [];
  for (
    let from = 0;
    from < Math.min(readable.length, SCRAPE_ENDPOINTS_MAX);
    from += ENDPOINT_CALLS_CONCURRENT_MAX
  ) {
    const group = readable.slice(from, Math.min(from + ENDPOINT_CALLS_CONCURRENT_MAX, SCRAPE_ENDPOINTS_MAX));
    measured.push(...(await Promise.all(group.map(async (endpoint) => await fetchTotals(env, endpoint)))));
  }
  return exposeAccount({ hosts, pods }, measured, readable.length - measured.length);
}

/** An object that cannot be reached at the moment costs its series, not the scrape. */
async function fetchTotals(env: Env, endpoint: EndpointSnapshot): Promise<MeasuredEndpoint> {
  const reply = await endpointObject(env, endpoint.endpointId)
    .totals()
    .catch(() => null);
  return { ...endpoint, totals: reply?.kind === "totals" ? reply : null };
}

function workersOf({ workers }: EndpointSnapshot): number {
  return Object.values(workers).reduce((sum, count) => sum + count, 0);
}

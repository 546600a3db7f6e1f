/** Finds endpoints without asking D1 for each request, and reaches their objects. */
import { ENDPOINT_DELETED, ServiceError } from "../contract/errors.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import { countFailure, refuseExhausted } from "../auth/request-rates.ts";
import { openDatabase } from "../db/database.ts";
import { findEndpoint, toEndpointConfig } from "../db/endpoints.ts";
import { findTemplate } from "../db/templates.ts";
import { BoundedMap } from "../domain/limits/bounded-map.ts";
import { shardName } from "../durable/object-name.ts";
import type { EndpointObject } from "../endpoint/endpoint-object.ts";
import type { FleetObject } from "../fleet/fleet-object.ts";
import { FLEET_NAME } from "../durable/ports.ts";
import type { Unconfigured } from "../endpoint/messages.ts";
import type { Env } from "../env.ts";
import { ensureWebhookSecrets } from "../management/secrets/webhook-secrets.ts";

/** The objects as their classes say; the generated stub types lose the outcome unions. */
export type EndpointStub = Pick<
  EndpointObject,
  | "configure"
  | "remove"
  | "countRefused"
  | "submit"
  | "status"
  | "expireIn"
  | "timeline"
  | "drain"
  | "readStream"
  | "cancel"
  | "abandon"
  | "retry"
  | "purge"
  | "list"
  | "webhookLog"
  | "redeliver"
  | "health"
  | "activity"
  | "totals"
  | "exchange"
  | "acceptsUpload"
  | "batch"
  | "batches"
  | "batchRequests"
  | "sendToFollowers"
  | "forward"
  | "abortForwarded"
> &
  Pick<Fetcher, "fetch">;
export type FleetStub = Pick<
  FleetObject,
  "sync" | "assignments" | "hostSilent" | "snapshot" | "recentWorkersOn"
> &
  Pick<Fetcher, "fetch">;

const CACHE_MS = 30_000;
const CACHE_SIZE = 10_000;

type CachedEndpoint = {
  readonly config: EndpointConfig;
  readonly flashEnvironmentId: string | null;
  readonly until: number;
};

const cache = new BoundedMap<CachedEndpoint>(CACHE_SIZE);

/** The endpoint's configuration; throws endpoint_not_found when the account has none of this id. */
export async function requireEndpoint(
  env: Env,
  accountId: string,
  endpointId: string,
): Promise<EndpointConfig> {
  const now = Date.now();
  if (!isCached(endpointId, now)) refuseExhausted("unknown", accountId, now);
  const config = await findAnyEndpoint(env, endpointId);
  if (config?.accountId === accountId) return config;
  await countFailure(env, "unknown", accountId, now);
  throw notFound(endpointId);
}

/** The configuration of an endpoint of any account; the caller must see to it that nobody gets another's. */
export async function findAnyEndpoint(env: Env, endpointId: string): Promise<EndpointConfig | undefined> {
  return (await find(env, endpointId))?.config;
}

/** The configuration of an endpoint of this flash environment. */
export async function findEndpointOfEnvironment(
  env: Env,
  environmentId: string,
  endpointId: string,
): Promise<EndpointConfig | undefined> {
  const found = await find(env, endpointId);
  return found?.flashEnvironmentId === environmentId ? found.config : undefined;
}

/** Calls an endpoint's object; tells it its configuration first when it does not know it. */
export async function callEndpoint<Reply extends { readonly kind: string }>(
  env: Env,
  { endpointId, accountId }: EndpointConfig,
  call: (stub: EndpointStub) => Promise<Reply>,
): Promise<Exclude<Reply, Unconfigured>> {
  const reply = await call(endpointStub(env, endpointId)).catch((error: unknown) => {
    if (isDeletion(error)) return call(endpointStub(env, endpointId)); // it is empty now, and says so
    throw error;
  });
  if (isConfigured(reply)) return reply;

  cache.delete(endpointId);
  const config = await wholeConfig(env, await requireEndpoint(env, accountId, endpointId));
  const stub = endpointStub(env, endpointId);
  await stub.configure(config, await ensureWebhookSecrets(env, accountId, Date.now()));
  await refuseDeleted(env, stub, endpointId);
  const second = await call(stub);
  if (isConfigured(second)) return second;
  throw notFound(endpointId);
}

function isDeletion(error: unknown): boolean {
  return error instanceof Error && error.message === ENDPOINT_DELETED;
}

/** Whoever deleted the endpoint meanwhile had found its object empty, and will not look again. */
async function refuseDeleted(env: Env, stub: EndpointStub, endpointId: string): Promise<void> {
  if (await load(env, endpointId)) return;
  cache.delete(endpointId);
  await stub.remove();
  throw notFound(endpointId);
}

export function endpointStub(env: Env, endpointId: string): EndpointStub {
  return env.ENDPOINT.getByName(shardName(endpointId, 0)) as unknown as EndpointStub;
}

export function fleetStub(env: Env): FleetStub {
  return env.FLEET.getByName(FLEET_NAME) as unknown as FleetStub;
}

async function find(env: Env, endpointId: string): Promise<CachedEndpoint | undefined> {
  return isCached(endpointId, Date.now()) ? cache.get(endpointId) : await load(env, endpointId);
}

function isCached(endpointId: string, now: number): boolean {
  const cached = cache.get(endpointId);
  return cached !== undefined && now < cached.until;
}

async function load(env: Env, endpointId: string): Promise<CachedEndpoint | undefined> {
  const record = await findEndpoint(openDatabase(env.DB), endpointId);
  if (!record) return undefined;
  const { flashEnvironmentId } = record;
  const cached = { config: toEndpointConfig(record), flashEnvironmentId, until: Date.now() + CACHE_MS };
  cache.set(endpointId, cached);
  return cached;
}

/** With what the object needs and nobody else. */
async function wholeConfig(env: Env, config: EndpointConfig): Promise<EndpointConfig> {
  const database = openDatabase(env.DB);
  const record = await findEndpoint(database, config.endpointId);
  if (!record) return config;
  return toEndpointConfig(record, await findTemplate(database, record.accountId, record.templateId));
}

function isConfigured<Reply extends { readonly kind: string }>(
  reply: Reply,
): reply is Exclude<Reply, Unconfigured> {
  return reply.kind !== "unconfigured";
}

function notFound(endpointId: string): ServiceError {
  return new ServiceError(
    "endpoint_not_found",
    `There is no endpoint ${endpointId.slice(0, 64)}. Check the id; myself { endpoints { id name } } lists yours.`,
  );
}

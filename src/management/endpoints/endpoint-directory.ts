/** Finds endpoints without reading D1 for each request, and calls their objects. */
import { countFailure, refuseExhausted } from "../../auth/request-rates.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { ENDPOINT_DELETED, ServiceError } from "../../contract/errors.ts";
import { openDatabase } from "../../db/database.ts";
import { findEndpoint, toEndpointConfig } from "../../db/endpoints.ts";
import { findTemplate } from "../../db/templates.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import { ENDPOINT_SHARDS_MAX } from "../../contract/limits.ts";
import { shardOfJob } from "../../contract/job.ts";
import type { NotFound, Unconfigured } from "../../endpoint/messages.ts";
import type { Env } from "../../env.ts";
import { endpointObject, type EndpointStub } from "../objects.ts";
import { ensureWebhookSecrets } from "../secrets/webhook-secrets.ts";

const CACHE_MS = 30_000;
const CACHE_SIZE = 10_000;

type CachedEndpoint = {
  readonly config: EndpointConfig;
  readonly flashEnvironmentId: string | null;
  readonly until: number;
};

const cache = new BoundedMap<CachedEndpoint>(CACHE_SIZE);

/** The endpoint's configuration; throws endpoint_not_found when the account has no endpoint with this id. */
export async function resolveEndpoint(
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

/** The configuration of an endpoint of any account; the caller must not show it to another account. */
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

/** Calls an endpoint's object; configures it first when it has no configuration. */
export async function callEndpoint<Reply extends { readonly kind: string }>(
  env: Env,
  { endpointId, accountId }: EndpointConfig,
  call: (stub: EndpointStub) => Promise<Reply>,
): Promise<Exclude<Reply, Unconfigured>> {
  const reply = await call(endpointObject(env, endpointId)).catch((error: unknown) => {
    // The object has been emptied and answers that it is unconfigured.
    if (isDeletion(error)) return call(endpointObject(env, endpointId));
    throw error;
  });
  if (isConfigured(reply)) return reply;

  cache.delete(endpointId);
  const config = await wholeConfig(env, await resolveEndpoint(env, accountId, endpointId));
  const stub = endpointObject(env, endpointId);
  await stub.configure(config, await ensureWebhookSecrets(env, accountId, Date.now()));
  await refuseDeleted(env, stub, endpointId);
  const second = await call(stub);
  if (isConfigured(second)) return second;
  throw notFound(endpointId);
}

/** Calls the object of the shard that has a job; a shard without a configuration has no jobs. */
export async function callShardOfJob<Reply extends { readonly kind: string }>(
  env: Env,
  endpoint: EndpointConfig,
  jobId: string,
  call: (stub: EndpointStub) => Promise<Reply>,
): Promise<Exclude<Reply, Unconfigured> | (NotFound & { readonly quota: null })> {
  const shard = shardOfJob(jobId);
  if (shard === 0) return await callEndpoint(env, endpoint, call);
  const reply = await callShard(env, endpoint, shard, call);
  return reply ?? { kind: "not_found", quota: null };
}

/** Calls the object of a shard but the first; undefined when that has no configuration: it has never been used. */
export async function callShard<Reply extends { readonly kind: string }>(
  env: Env,
  { endpointId }: EndpointConfig,
  shard: number,
  call: (stub: EndpointStub) => Promise<Reply>,
): Promise<Exclude<Reply, Unconfigured> | undefined> {
  if (shard >= ENDPOINT_SHARDS_MAX) return undefined;
  const reply = await call(endpointObject(env, endpointId, shard)).catch((error: unknown) => {
    if (isDeletion(error)) return undefined;
    throw error;
  });
  return reply && isConfigured(reply) ? reply : undefined;
}

function isDeletion(error: unknown): boolean {
  return error instanceof Error && error.message === ENDPOINT_DELETED;
}

/** A deletion that happened meanwhile found the object empty, so nothing else would empty it. */
async function refuseDeleted(env: Env, stub: EndpointStub, endpointId: string): Promise<void> {
  if (await load(env, endpointId)) return;
  cache.delete(endpointId);
  await stub.remove();
  throw notFound(endpointId);
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

/** With the members that only the object needs. */
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

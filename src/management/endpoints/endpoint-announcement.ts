/**
 * Sends an endpoint's object what D1 stores of it.
 *
 * A1  D1 is written first; saving or deleting again repairs an object that was not reached.
 * A2  The last sender has sent the newest state: after sending, D1 is read again until nothing changed.
 */
import type { WebhookSecret } from "../../contract/webhook.ts";
import {
  closeEndpointRemoval,
  findOwnEndpoints,
  listEndpoints,
  toEndpointConfig,
  type EndpointRecord,
} from "../../db/endpoints.ts";
import { findFlashBuilds } from "../../db/flash/builds.ts";
import { findTemplates, type TemplateRecord } from "../../db/templates.ts";
import { fewAtOnce } from "../../std/few-at-once.ts";
import type { RequestContext } from "../context.ts";
import { endpointObject, endpointObjectNear, ENDPOINT_CALLS_CONCURRENT_MAX } from "../objects.ts";
import { logFailure } from "../failure-log.ts";
import { logRetentionDays, removeLogsOf } from "../logs/log-retention.ts";
import { ServiceError } from "../../contract/errors.ts";
import { collectJobsOf, USAGE_REACH_MS } from "../accounts/usage-collection.ts";
import { ensureWebhookSecrets } from "../secrets/webhook-secrets.ts";

const ROUNDS = 5;

/** Access to an object and to D1. */
type Place = Pick<RequestContext, "env" | "db">;

/** Brings the object of a written endpoint up to date with D1. */
export async function announceEndpoint(context: RequestContext, written: EndpointRecord): Promise<void> {
  await announceEndpoints(context, [written]);
}

/** Brings the objects of many written endpoints of the account up to date, with few queries to D1 for all. */
export async function announceEndpoints(
  context: RequestContext,
  written: readonly EndpointRecord[],
): Promise<void> {
  let sent = written;
  for (let round = 0; round < ROUNDS && sent.length > 0; round += 1) {
    const secrets = await load(sent, () => webhookSecretsOf(context));
    const templates = await load(sent, () => templatesOf(context, sent));
    const artifacts = await load(sent, () => artifactsOf(context, sent));
    await fewAtOnce(sent, ENDPOINT_CALLS_CONCURRENT_MAX, async (endpoint) => {
      const artifact = artifacts.get(endpoint.flashBuildId ?? "");
      const config = toEndpointConfig(endpoint, templates.get(endpoint.templateId), artifact);
      await notify(endpoint.id, () =>
        endpointObjectNear(context.env, endpoint.id, config.locations).configure(config, secrets),
      );
    });
    sent = await changedMeanwhile(context, sent); // A2
  }
}

/** Endpoints that differ in D1 from what was sent; the objects of deleted ones are emptied. */
async function changedMeanwhile(
  context: RequestContext,
  sent: readonly EndpointRecord[],
): Promise<readonly EndpointRecord[]> {
  const ids = sent.map(({ id }) => id);
  const found = await load(sent, () => findOwnEndpoints(context.db, context.principal.accountId, ids));
  const current = new Map(found.map((endpoint) => [endpoint.id, endpoint]));
  await fewAtOnce(
    sent.filter(({ id }) => !current.has(id)),
    ENDPOINT_CALLS_CONCURRENT_MAX,
    async (gone) => await announceRemoval(context, gone),
  );
  const rowVersions = new Map(sent.map(({ id, rowVersion }) => [id, rowVersion]));
  return found.filter(({ id, rowVersion }) => rowVersions.get(id) !== rowVersion);
}

async function templatesOf(
  { db, principal }: RequestContext,
  endpoints: readonly EndpointRecord[],
): Promise<ReadonlyMap<string, TemplateRecord>> {
  const ids = [...new Set(endpoints.map(({ templateId }) => templateId))];
  const found = await findTemplates(db, principal.accountId, ids);
  return new Map(found.map((template) => [template.id, template]));
}

/** SHA-256 of the files of apps, by build. */
async function artifactsOf(
  { db, principal }: RequestContext,
  endpoints: readonly EndpointRecord[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(endpoints.flatMap(({ flashBuildId }) => flashBuildId ?? []))];
  if (ids.length === 0) return new Map();
  const found = await findFlashBuilds(db, principal.accountId, ids);
  return new Map(found.map(({ id, sha256 }) => [id, sha256]));
}

async function webhookSecretsOf({ env, principal, now }: RequestContext): Promise<WebhookSecret[]> {
  return await ensureWebhookSecrets(env, principal.accountId, now);
}

/** Has the objects of an account sign with its present secrets. */
export async function announceWebhookSecrets(
  context: RequestContext,
  secrets: readonly WebhookSecret[],
): Promise<void> {
  const endpoints = await listEndpoints(context.db, context.principal.accountId);
  await fewAtOnce(endpoints, ENDPOINT_CALLS_CONCURRENT_MAX, async ({ id }) => {
    await notify(id, () => endpointObject(context.env, id).learnWebhookSecrets(secrets));
  });
}

/** Empties the object of a deleted endpoint and forgets the removal. */
export async function announceRemoval(
  context: Place,
  removed: { readonly id: string; readonly accountId: string },
): Promise<void> {
  await notify(removed.id, async () => {
    const now = Date.now();
    const usage = { endpointId: removed.id, accountId: removed.accountId, endpointName: "" };
    await collectJobsOf(context, { ...usage, since: now - USAGE_REACH_MS }, now);
    // An object that has emptied itself may break the call; a second one has nothing left to do.
    await endpointObject(context.env, removed.id)
      .remove()
      .catch(() => endpointObject(context.env, removed.id).remove());
  });
  // What is left is removed when maintenance announces the open removal again.
  if (!(await hasNoLogs(context, removed))) return;
  await closeEndpointRemoval(context.db, removed.accountId, removed.id);
}

async function hasNoLogs(
  { env }: Place,
  { id: endpointId, accountId }: { readonly id: string; readonly accountId: string },
): Promise<boolean> {
  const owner = { accountId, endpointId };
  return await removeLogsOf(env.LOGS, owner, Date.now(), logRetentionDays(env)).catch((cause: unknown) => {
    logFailure("endpoint_not_notified", { endpointId }, cause);
    return false;
  });
}

async function notify(endpointId: string, call: () => Promise<void>): Promise<void> {
  await call().catch((cause: unknown) => refuse([endpointId], cause));
}

/** Reads from D1 what these endpoints are sent. */
async function load<Answer>(
  endpoints: readonly EndpointRecord[],
  ask: () => Promise<Answer>,
): Promise<Answer> {
  return await ask().catch((cause: unknown) =>
    refuse(
      endpoints.map(({ id }) => id),
      cause,
    ),
  );
}

function refuse(endpointIds: readonly string[], cause: unknown): never {
  const named = endpointIds.join(", ");
  logFailure("endpoint_not_notified", { endpointId: named }, cause);
  throw new ServiceError(
    "unavailable",
    `The change of endpoint ${named} is stored, but its queue could not be reached. Please try again later: saving or deleting it again by its id is safe.`,
  );
}

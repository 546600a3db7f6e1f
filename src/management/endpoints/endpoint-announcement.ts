/**
 * Telling an endpoint's object what D1 says of it.
 *
 * A1  D1 is written first; an object that could not be told is healed by saving or deleting again.
 * A2  Whoever tells last has told the newest state: after telling, D1 is read again until nothing changed.
 */
import { ENDPOINTS_ASKED_AT_ONCE } from "../../contract/limits.ts";
import type { WebhookSecret } from "../../contract/webhook.ts";
import type { EndpointObject } from "../../endpoint/endpoint-object.ts";
import { shardName } from "../../domain/shard.ts";
import {
  closeEndpointRemoval,
  findOwnEndpoint,
  listEndpoints,
  toEndpointConfig,
  type EndpointRecord,
} from "../../db/endpoints.ts";
import { findTemplate } from "../../db/templates.ts";
import type { RequestContext } from "../context.ts";
import { logFailure } from "../../failure-log.ts";
import { OperationError } from "../operation-error.ts";
import { ensureWebhookSecrets } from "../webhooks/webhook-secrets.ts";

const ROUNDS = 5;

/** Where an object and what D1 says of it are found. */
type Place = Pick<RequestContext, "env" | "db">;

/** A new stub for each call: one that has met a failure stays broken. */
export function endpointObject(
  context: Pick<Place, "env">,
  endpointId: string,
): DurableObjectStub<EndpointObject> {
  return context.env.ENDPOINT.getByName(shardName(endpointId, 0));
}

/** Brings the object of a written endpoint up to date with D1. */
export async function announceEndpoint(context: RequestContext, written: EndpointRecord): Promise<void> {
  let told = written;
  for (let round = 0; round < ROUNDS; round += 1) {
    const secrets = await ensureWebhookSecrets(context.env, told.accountId, context.now);
    const template = await findTemplate(context.db, told.accountId, told.templateId);
    const config = toEndpointConfig(told, template);
    await tell(told.id, () => endpointObject(context, told.id).configure(config, secrets));
    const current = await findOwnEndpoint(context.db, told.accountId, told.id);
    if (current === undefined) return await announceRemoval(context, written); // A2
    if (current.revision === told.revision) return;
    told = current;
  }
}

/** Brings the objects of many written endpoints up to date, a bounded number at a time. */
export async function announceEndpoints(
  context: RequestContext,
  written: readonly EndpointRecord[],
): Promise<void> {
  await fewAtOnce(written, async (endpoint) => await announceEndpoint(context, endpoint));
}

/** Has the objects of an account sign with its present secrets. */
export async function announceWebhookSecrets(
  context: RequestContext,
  secrets: readonly WebhookSecret[],
): Promise<void> {
  const endpoints = await listEndpoints(context.db, context.principal.accountId);
  await fewAtOnce(endpoints, async ({ id }) => {
    await tell(id, () => endpointObject(context, id).learnWebhookSecrets(secrets));
  });
}

/** Empties the object of a deleted endpoint and forgets the removal. */
export async function announceRemoval(
  context: Place,
  removed: { readonly id: string; readonly accountId: string },
): Promise<void> {
  await tell(removed.id, async () => {
    // An object that has emptied itself may cut its callers off; asked again, it has nothing left to do.
    await endpointObject(context, removed.id)
      .remove()
      .catch(() => endpointObject(context, removed.id).remove());
  });
  await closeEndpointRemoval(context.db, removed.accountId, removed.id);
}

async function fewAtOnce(
  endpoints: readonly EndpointRecord[],
  work: (endpoint: EndpointRecord) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < endpoints.length; from += ENDPOINTS_ASKED_AT_ONCE) {
    await Promise.all(endpoints.slice(from, from + ENDPOINTS_ASKED_AT_ONCE).map(work));
  }
}

async function tell(endpointId: string, call: () => Promise<void>): Promise<void> {
  try {
    await call();
  } catch (cause) {
    logFailure("endpoint_not_told", { endpointId }, cause);
    throw new OperationError(
      "UNAVAILABLE",
      `The change of endpoint ${endpointId} is stored, but its queue could not be told. Please try again later: repeating the same operation is safe.`,
    );
  }
}

/**
 * What the resolvers of one request load: each row once, rows of one kind together.
 *
 * L1  A query asks D1 as often for fifty endpoints, or fifty aliases, as for one.
 * L2  An endpoint's object is asked once, a bounded number at a time, and in all.
 * L3  After a mutation everything is loaded anew.
 */
import DataLoader from "dataloader";
import { ENDPOINTS_ASKED_AT_ONCE, ENDPOINTS_ASKED_MAX } from "../contract/limits.ts";
import { findAccount } from "../db/accounts.ts";
import { findOwnEndpoints, listEndpoints } from "../db/endpoints.ts";
import { findTemplates, listUnboundTemplates } from "../db/templates.ts";
import type { RequestContext } from "../management/context.ts";
import { endpointObject } from "../management/endpoints/endpoint-announcement.ts";
import { OperationError } from "../management/operation-error.ts";
import { ensureWebhookSecrets } from "../management/webhooks/webhook-secrets.ts";

export type Loaders = ReturnType<typeof createLoaders>;

/** The loaders of one request; all they load belongs to the calling account. */
export function createLoaders(context: RequestContext) {
  const { db, now } = context;
  const { accountId } = context.principal;
  const loaders = {
    account: once(() => findAccount(db, accountId)),
    endpoints: once(() => listEndpoints(db, accountId)),
    unboundTemplates: once(() => listUnboundTemplates(db, accountId)),
    webhookSecrets: once(() => ensureWebhookSecrets(context.env, accountId, now)),
    endpoint: byId((ids) => findOwnEndpoints(db, accountId, ids)),
    template: byId((ids) => findTemplates(db, accountId, ids)),
    workers: fromObjects((endpointId) => endpointObject(context, endpointId).workers()),
  };
  return {
    ...loaders,
    /** Forgets what was loaded. */
    forget(): void {
      for (const loader of Object.values(loaders)) loader.clearAll();
    },
  };
}

/** Loads a single thing. */
function once<Value>(load: () => Promise<Value>) {
  const loader = new DataLoader<"", Value>(async () => [await load()]);
  return { load: () => loader.load(""), clearAll: () => void loader.clearAll() };
}

/** Loads rows by their ids, with one query for all that are asked for together. */
function byId<Row extends { readonly id: string }>(
  find: (ids: readonly string[]) => Promise<readonly Row[]>,
): DataLoader<string, Row | undefined> {
  return new DataLoader(async (ids) => {
    const rows = new Map((await find(ids)).map((row) => [row.id, row]));
    return ids.map((id) => rows.get(id));
  });
}

/** Asks endpoints' objects. One that fails fails alone. */
function fromObjects<Value>(ask: (endpointId: string) => Promise<Value>): DataLoader<string, Value> {
  let asked = 0;
  return new DataLoader(async (endpointIds) => {
    const answers: (Value | Error)[] = [];
    for (let from = 0; from < endpointIds.length; from += ENDPOINTS_ASKED_AT_ONCE) {
      const some = endpointIds.slice(from, from + ENDPOINTS_ASKED_AT_ONCE);
      asked += some.length;
      answers.push(
        ...(asked > ENDPOINTS_ASKED_MAX ? some.map(tooManyAsked) : await Promise.all(some.map(orError(ask)))),
      );
    }
    return answers;
  });
}

function orError<Value>(ask: (endpointId: string) => Promise<Value>) {
  return (endpointId: string) =>
    ask(endpointId).catch((cause: unknown) =>
      cause instanceof Error ? cause : new Error("failed", { cause }),
    );
}

function tooManyAsked(endpointId: string): OperationError {
  return new OperationError(
    "NOT_SUPPORTED",
    `pods: one request asks at most ${ENDPOINTS_ASKED_MAX} endpoints; ask myself.endpoint(id: "${endpointId}") by itself.`,
  );
}

/**
 * Periodic maintenance. A task does a bounded piece of work and returns how much it did; the rest waits for the
 * next run. Runs may overlap and may be cut off anywhere, so tasks are idempotent.
 */
import { FLASH_AUTH_RETENTION_MS } from "../auth/login-request.ts";
import { removeEndedApiKeys } from "../db/credentials/api-keys.ts";
import { removeOldAuditEntries } from "../db/audit-log.ts";
import type { Database } from "../db/database.ts";
import { listOpenRemovals } from "../db/endpoints.ts";
import { removeOrphanedFlashApps } from "../db/flash/apps.ts";
import { removeOldAuthRequests } from "../db/flash/auth-requests.ts";
import { listExpiredHosts, revokeHost } from "../db/hosts.ts";
import { removeExpiredJoinTokens } from "../db/credentials/join-tokens.ts";
import { removeExpiredSignIns } from "../db/credentials/sign-ins.ts";
import { removeOldLogDays } from "../db/log-days.ts";
import { removeOrphanedTemplates, ORPHAN_RETENTION_MS } from "../db/templates.ts";
import { removeOldUsage, USAGE_RETENTION_MS } from "../db/usage.ts";
import { firstRetainedDay } from "../domain/logs/log-key.ts";
import type { Env } from "../env.ts";
import { resealOlder } from "../management/secrets/reseal.ts";
import { removeEndedUploads, removeSurplusBuilds } from "../management/flash/artifact-removal.ts";
import { endLapsedSessions } from "../management/flash/sessions.ts";
import { logRetentionDays, removeOldLogs } from "../management/logs/log-retention.ts";
import { announceRemoval } from "../management/endpoints/endpoint-announcement.ts";
import { recordStock } from "../management/catalog/present-stock.ts";
import { fleetObject } from "../management/objects.ts";
import { settlePodRows, terminateUnknownPods } from "../management/pods/pod-maintenance.ts";
import { collectUsage } from "../management/accounts/usage-collection.ts";
import { openDatabase, MAINTENANCE_ROWS_MAX } from "../db/database.ts";
import { logFailure } from "../management/failure-log.ts";

/** How long entries of the audit log are stored. */
export const AUDIT_RETENTION_MS = 400 * 86_400_000;
/** How long a revoked or expired key is still listed. */
export const INACTIVE_KEY_RETENTION_MS = 90 * 86_400_000;
/** Objects that one maintenance run calls at most. */
export const MAINTENANCE_CALLS_MAX = 20;

export type MaintenanceContext = { readonly env: Env; readonly db: Database; readonly now: number };

export type MaintenanceTask = {
  readonly name: string;
  readonly run: (context: MaintenanceContext) => Promise<number>;
};

export const MAINTENANCE_TASKS: readonly MaintenanceTask[] = [
  { name: "end lapsed sessions", run: endLapsedSessions },
  {
    name: "remove apps of no session",
    run: ({ db, now }) => removeOrphanedFlashApps(db, now - ORPHAN_RETENTION_MS, MAINTENANCE_ROWS_MAX),
  },
  { name: "empty deleted endpoints", run: emptyDeletedEndpoints },
  { name: "settle rows of pods", run: (context) => settlePodRows(context, context.now) },
  { name: "terminate pods of no row", run: terminateUnknownPods },
  {
    name: "remove old audit entries",
    run: ({ db, now }) => removeOldAuditEntries(db, now - AUDIT_RETENTION_MS, MAINTENANCE_ROWS_MAX),
  },
  {
    name: "remove expired join tokens",
    run: ({ db, now }) => removeExpiredJoinTokens(db, now, MAINTENANCE_ROWS_MAX),
  },
  {
    name: "remove expired sign-ins",
    run: ({ db, now }) => removeExpiredSignIns(db, now, MAINTENANCE_ROWS_MAX),
  },
  { name: "remove hosts whose key has expired", run: removeExpiredHosts },
  {
    name: "remove dead API keys",
    run: ({ db, now }) => removeEndedApiKeys(db, now - INACTIVE_KEY_RETENTION_MS, MAINTENANCE_ROWS_MAX),
  },
  {
    name: "remove orphaned inline templates",
    run: ({ db, now }) => removeOrphanedTemplates(db, now - ORPHAN_RETENTION_MS, MAINTENANCE_ROWS_MAX),
  },
  {
    name: "remove old logins",
    run: ({ db, now }) => removeOldAuthRequests(db, now - FLASH_AUTH_RETENTION_MS, MAINTENANCE_ROWS_MAX),
  },
  { name: "end unused flash builds", run: removeSurplusBuilds },
  { name: "remove ended uploads", run: removeEndedUploads },
  { name: "collect usage", run: ({ env, db, now }) => collectUsage({ env, db }, now) },
  {
    name: "remove old usage",
    run: ({ db, now }) => removeOldUsage(db, now - USAGE_RETENTION_MS, MAINTENANCE_ROWS_MAX),
  },
  {
    name: "seal again what older keys seal",
    run: async ({ env }) => (await resealOlder(env, MAINTENANCE_CALLS_MAX)).resealed,
  },
  {
    name: "remove old logs",
    run: ({ env, now }) => removeOldLogs(env.LOGS, now, logRetentionDays(env)),
  },
  {
    name: "forget what logs of past days took",
    run: ({ db, now }) => removeOldLogDays(db, firstRetainedDay(now, 1), MAINTENANCE_ROWS_MAX),
  },
];

/** Their keys are rejected already; Fleet and the lists forget them. */
async function removeExpiredHosts({ env, db, now }: MaintenanceContext): Promise<number> {
  const expired = await listExpiredHosts(db, now, MAINTENANCE_CALLS_MAX);
  for (const host of expired) {
    const { stock } = await fleetObject(env, host.accountId).removeHost({
      id: host.id,
      accountId: host.accountId,
      name: host.name,
    });
    await recordStock(env, host.accountId, stock);
    await revokeHost(db, { accountId: host.accountId, apiKeyId: "", operation: "expiry", now }, host);
  }
  return expired.length;
}

/** Notifies objects whose endpoint was deleted while they were unreachable. Failures are logged where they happen. */
async function emptyDeletedEndpoints({ env, db }: MaintenanceContext): Promise<number> {
  const open = await listOpenRemovals(db, MAINTENANCE_CALLS_MAX);
  const outcomes = await Promise.allSettled(open.map((removal) => announceRemoval({ env, db }, removal)));
  return outcomes.filter(({ status }) => status === "fulfilled").length;
}

/** Runs every task once, one after the other; a failing task does not stop the others. */
export async function maintain(env: Env, now: number): Promise<void> {
  const context = { env, db: openDatabase(env.DB), now };
  for (const { name, run } of MAINTENANCE_TASKS) {
    await run(context).catch((cause: unknown) => logFailure("maintenance_failed", { task: name }, cause));
  }
}

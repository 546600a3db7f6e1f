import type { Principal } from "../auth/principal.ts";
import { idOfPodKey, type Author } from "../db/audit-log.ts";
import { openDatabase, type Database } from "../db/database.ts";
import { cutMessage, ServiceError } from "../contract/errors.ts";
import type { Env } from "../env.ts";
import { missingManagementAccess } from "../auth/access.ts";
import type { Access } from "../domain/accounts/permissions.ts";

/** Warnings of one answer of the management API. */
const WARNINGS_MAX = 20;

/** A problem with something that was stored nevertheless. */
export type Warning = {
  readonly code: "SECRET_NOT_FOUND" | "SECRET_IN_USE";
  /** For users; names the field. */
  readonly message: string;
};

/** What every operation of the management API gets: caller, operation, time and storage. */
export type RequestContext = {
  readonly env: Env;
  readonly db: Database;
  readonly principal: Principal;
  readonly now: number;
  /** The field of the mutation, or method and path of a REST call; as the audit log shows it. */
  readonly operation: string;
  /** The origin under which the caller reached this edge, such as https://edge.example. */
  readonly origin: string;
  /** Added by operations, returned in the answer. */
  readonly warnings: Warning[];
  /** The caller's User-Agent. */
  readonly userAgent?: string;
};

/** The context of a request, with its database. */
export function openContext(
  env: Env,
  request: Omit<RequestContext, "env" | "db" | "warnings">,
): RequestContext {
  return { ...request, env, db: openDatabase(env.DB), warnings: [] };
}

/** Adds a warning unless it is there already; their number and length are bounded. */
export function warn({ warnings }: RequestContext, { code, message }: Warning): void {
  const cut = cutMessage(message);
  const isDuplicate = warnings.some((existing) => existing.message === cut);
  if (!isDuplicate && warnings.length < WARNINGS_MAX) warnings.push({ code, message: cut });
}

/** The author that the audit log names. */
export function authorOf({ principal, operation, now }: RequestContext): Author {
  const { accountId, apiKeyId, podId } = principal;
  return { accountId, apiKeyId: podId === undefined ? apiKeyId : idOfPodKey(podId), operation, now };
}

/** For what removes again what the operation has made: its entries in the audit log say so. */
export function takingBack(context: RequestContext): RequestContext {
  return { ...context, operation: `${context.operation}: taken back` };
}

/** Rejects a key that does not grant this access to the management API. */
export function requireManagementAccess(
  { principal }: RequestContext,
  needed: Exclude<Access, "none">,
): void {
  const lack = missingManagementAccess(principal, needed);
  if (lack !== undefined) throw new ServiceError("insufficient_permission", lack);
}

const ATTEMPTS = 5;

/** Repeats "read, decide, write if unchanged" until no other write came in between. */
export async function retryOnConflict<Row>(attempt: () => Promise<Row | undefined>): Promise<Row> {
  for (let attempts = 0; attempts < ATTEMPTS; attempts += 1) {
    const row = await attempt();
    if (row !== undefined) return row;
  }
  throw new ServiceError("unavailable", "Others are changing the same record; please try again later.");
}

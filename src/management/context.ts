import type { Principal } from "../auth/principal.ts";
import type { Author } from "../db/audit-log.ts";
import type { Database } from "../db/database.ts";
import type { Env } from "../env.ts";

/** What every operation of the management API gets: who asks for what, when, and where things are kept. */
export type RequestContext = {
  readonly env: Env;
  readonly db: Database;
  readonly principal: Principal;
  readonly now: number;
  /** The field of the mutation, or method and path of a REST call; as the audit log shows it. */
  readonly operation: string;
  /** Under which the caller reached this edge, such as https://edge.example. */
  readonly origin: string;
  /** What the caller's program says it is. */
  readonly userAgent?: string;
  /** Where on the network the caller is; nothing where no one tells. */
  readonly clientAddress?: string | undefined;
};

/** Whom the audit log names. */
export function authorOf({ principal, operation, now }: RequestContext): Author {
  const { accountId, apiKeyId } = principal;
  return { accountId, apiKeyId, operation, now };
}

import type { AccountRecord } from "../../db/accounts.ts";
import { listAuditEntries, type AuditRecord } from "../../db/audit-log.ts";
import { auditSelectionSchema } from "../../management/accounts/audit-selection.ts";
import type { RequestContext } from "../../management/context.ts";
import { parseInput } from "../../management/input-schemas.ts";

export const auditResolvers = {
  User: {
    auditLog: async (
      account: AccountRecord,
      { input }: { input?: unknown },
      { db }: RequestContext,
    ): Promise<readonly AuditRecord[]> =>
      await listAuditEntries(db, account.id, parseInput(auditSelectionSchema, input)),
  },
};

/** Reading the audit log. */
import * as z from "zod";
import { listAuditEntries, type AuditRecord } from "../../db/audit-log.ts";
import type { RequestContext } from "../context.ts";
import { optionalNonEmpty, stringSchema, wholeNumber } from "../input-schemas.ts";

const AUDIT_PAGE_DEFAULT = 50;
const AUDIT_PAGE_MAX = 200;

/** Which entries of the audit log are requested. */
export const auditSelectionSchema = z.object({
  limit: z.preprocess((value) => value ?? AUDIT_PAGE_DEFAULT, wholeNumber(1, AUDIT_PAGE_MAX)),
  before: optionalNonEmpty(
    z
      .string()
      .regex(/^\d{1,15}$/, "must be the id of an entry")
      .transform(Number),
  ),
  subjectId: optionalNonEmpty(stringSchema),
  subjectKind: optionalNonEmpty(stringSchema),
  operation: optionalNonEmpty(stringSchema),
  apiKeyId: optionalNonEmpty(stringSchema),
});

/** Entries of the calling account, the newest first. */
export async function readAuditLog(
  { db, principal }: RequestContext,
  selection: z.output<typeof auditSelectionSchema>,
): Promise<readonly AuditRecord[]> {
  return await listAuditEntries(db, principal.accountId, selection);
}

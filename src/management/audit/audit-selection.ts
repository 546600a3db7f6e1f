import * as z from "zod";
import { AUDIT_PAGE_DEFAULT, AUDIT_PAGE_MAX } from "../../contract/limits.ts";
import { keepableText, plainText, wholeNumber } from "../input.ts";

/** Which entries of the audit log are asked for. */
export const auditSelectionSchema = z.object({
  limit: z.preprocess((value) => value ?? AUDIT_PAGE_DEFAULT, wholeNumber(1, AUDIT_PAGE_MAX)),
  before: keepableText(
    z
      .string()
      .regex(/^\d{1,15}$/, "must be the id of an entry")
      .transform(Number),
  ),
  subjectId: keepableText(plainText),
  subjectKind: keepableText(plainText),
  operation: keepableText(plainText),
  apiKeyId: keepableText(plainText),
});

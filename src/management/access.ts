import { missingManagementAccess } from "../auth/access.ts";
import type { Access } from "../domain/accounts/permissions.ts";
import type { RequestContext } from "./context.ts";
import { OperationError } from "./errors.ts";

/** Lets nobody pass whose key does not allow this of the management API. */
export function requireManagementAccess(
  { principal }: RequestContext,
  needed: Exclude<Access, "none">,
): void {
  const lack = missingManagementAccess(principal, needed);
  if (lack !== undefined) throw new OperationError("INSUFFICIENT_PERMISSION", lack);
}

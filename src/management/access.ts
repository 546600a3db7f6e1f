import { missingManagementAccess } from "../auth/access.ts";
import type { Access } from "../domain/accounts/permissions.ts";
import type { RequestContext } from "./context.ts";
import { ServiceError } from "../contract/errors.ts";

/** Lets nobody pass whose key does not allow this of the management API. */
export function requireManagementAccess(
  { principal }: RequestContext,
  needed: Exclude<Access, "none">,
): void {
  const lack = missingManagementAccess(principal, needed);
  if (lack !== undefined) throw new ServiceError("insufficient_permission", lack);
}

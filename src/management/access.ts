import { suffices, type Access } from "../domain/permissions.ts";
import type { RequestContext } from "./context.ts";
import { OperationError } from "./operation-error.ts";

/** Lets nobody pass whose key does not allow this of the management API. */
export function requireManagementAccess(
  { principal }: RequestContext,
  needed: Exclude<Access, "none">,
): void {
  if (suffices(principal.permissions.graphql, needed)) return;
  throw new OperationError(
    "INSUFFICIENT_PERMISSION",
    `This API key lacks the permission graphql: ${needed}, which this operation needs. Use another key.`,
  );
}

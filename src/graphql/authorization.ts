/** Who may have a document answered. */
import type { DocumentNode } from "graphql";
import { missingManagementAccess } from "../auth/access.ts";
import { ANONYMOUS, MISSING_KEY } from "../auth/principal.ts";
import type { RequestContext } from "../management/context.ts";
import { ServiceError } from "../contract/errors.ts";
import { selectsOnly, neededAccess } from "./documents/access.ts";
import { environmentAccessError } from "./environment-access.ts";
import { managementSchema } from "./schema.ts";

/** Holds nothing of an account, and is asked for by clients that send no key. */
const CATALOG_FIELDS = ["gpuTypes", "cpuFlavors", "dataCenters", "countryCodes", "serverlessGpuPools"];
/** How somebody comes to a key cannot need one. */
const LOGIN_FIELDS = ["createFlashAuthRequest", "flashAuthRequestStatus"];

const OPEN_FIELDS = new Set([...CATALOG_FIELDS, ...LOGIN_FIELDS]);
const OPEN_FIELDS_WITH_CATALOG_CLOSED = new Set(LOGIN_FIELDS);

/** Why the caller may not have this document answered, if so. */
export function accessError(
  document: DocumentNode,
  operationName: string | null | undefined,
  { env, principal }: Pick<RequestContext, "env" | "principal">,
): ServiceError | undefined {
  if (principal === ANONYMOUS) {
    const isCatalogClosed = env.CATALOG_REQUIRES_KEY === "true";
    const open = isCatalogClosed ? OPEN_FIELDS_WITH_CATALOG_CLOSED : OPEN_FIELDS;
    return selectsOnly(document, open) ? undefined : missingKey();
  }
  if (principal.flashEnvironmentId !== undefined) return environmentAccessError(managementSchema, document);
  const needed = selectsOnly(document, OPEN_FIELDS) ? "none" : neededAccess(document, operationName);
  if (needed === "none") return undefined;
  const lack = missingManagementAccess(principal, needed);
  return lack === undefined ? undefined : new ServiceError("insufficient_permission", lack);
}

export function missingKey(): ServiceError {
  return new ServiceError("unauthorized", MISSING_KEY);
}

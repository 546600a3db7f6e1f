/** Which callers may execute which document. */
import type { DocumentNode } from "graphql";
import { missingManagementAccess } from "../auth/access.ts";
import { outsidePod } from "../auth/pod-principal.ts";
import { ANONYMOUS, MISSING_KEY } from "../auth/principal.ts";
import type { RequestContext } from "../management/context.ts";
import { ServiceError } from "../contract/errors.ts";
import { selectsOnly, neededAccess } from "./documents/access.ts";
import { environmentAccessError } from "./environment-access.ts";
import { managementSchema } from "./schema.ts";

/** These contain no data of an account, and clients query them without a key. */
const CATALOG_FIELDS = [
  ...["gpuTypes", "cpuFlavors", "dataCenters", "countryCodes", "serverlessGpuPools"],
  ...["listings", "listing", "listingFromRepo", "allAiApiPublicConfigs"],
];
/** Getting a key cannot need one. */
const LOGIN_FIELDS = ["createFlashAuthRequest", "flashAuthRequestStatus"];

/** What the key of a pod opens, for its own pod. */
const POD_FIELDS = new Set(["pod", "podStop", "podTerminate"]);

const OPEN_FIELDS = new Set([...CATALOG_FIELDS, ...LOGIN_FIELDS]);
const OPEN_FIELDS_WITH_CATALOG_CLOSED = new Set(LOGIN_FIELDS);

/** Why the caller may not execute this document; undefined if it may. */
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
  if (principal.podId !== undefined) {
    return selectsOnly(document, POD_FIELDS) ? undefined : outsidePod("this operation");
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

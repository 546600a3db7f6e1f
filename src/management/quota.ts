import { hasQuotaLeft, quotaOf, type QuotaKind } from "../db/quotas.ts";
import type { RequestContext } from "./context.ts";
import { ServiceError } from "../contract/errors.ts";

const QUOTA_NOUNS: Record<QuotaKind, string> = {
  apiKey: "API keys, those included that were revoked or expired in the last 90 days",
  cluster: "clusters",
  endpoint: "endpoints",
  flashApp: "flash apps",
  flashUpload: "uploads of artifacts that became no build, those included that ended in the last hour",
  joinToken: "join tokens that have not expired",
  networkVolume: "network volumes",
  pod: "pods",
  registryAuth: "registry credentials",
  secret: "secrets",
  signIn: "browsers signed in and unused links to sign in",
  template: "templates, those included that came inline with an endpoint",
};

/** Throws when the account already has the permitted number of a kind. */
export async function requireQuota({ db, principal }: RequestContext, kind: QuotaKind): Promise<void> {
  if (await hasQuotaLeft(db, kind, principal.accountId)) return;
  throw new ServiceError(
    "limit_reached",
    `The account has ${quotaOf(kind)} ${QUOTA_NOUNS[kind]}, which is as many as it may have. Delete what is not used any more.`,
  );
}

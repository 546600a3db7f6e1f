import { mayHaveMore, roomFor, type BoundedKind } from "../db/account-room.ts";
import type { RequestContext } from "./context.ts";
import { OperationError } from "./operation-error.ts";

const WORDS: Record<BoundedKind, string> = {
  apiKey: "API keys, those included that were revoked or expired in the last 90 days",
  endpoint: "endpoints",
  flashApp: "flash apps",
  flashUpload: "uploads of artifacts that became no build, those included that ended in the last hour",
  joinToken: "join tokens that have not expired",
  networkVolume: "network volumes",
  registryAuth: "registry credentials",
  secret: "secrets",
  template: "templates, those included that came inline with an endpoint",
};

/** Refuses when the account has as many of a kind as it may have. */
export async function requireRoom({ db, principal }: RequestContext, kind: BoundedKind): Promise<void> {
  if (await mayHaveMore(db, kind, principal.accountId)) return;
  throw new OperationError(
    "LIMIT_REACHED",
    `The account has ${roomFor(kind)} ${WORDS[kind]}, which is as many as it may have. Delete what is not used any more.`,
  );
}

/**
 * Making, changing and revoking API keys.
 *
 * K1  A caller gives no more than its own key has, in permissions and in time.
 * K2  A caller changes no key that allows more than its own.
 * K3  The permissions of the caller are read from D1 here, not from a cache, and checked again in the write: a key
 *     that has just been revoked or narrowed must not create another one.
 */
import { forgetApiKey } from "../../auth/principal.ts";
import { generateCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/digest.ts";
import {
  findApiKey,
  insertApiKeyIfAllowed,
  listApiKeys,
  revokeApiKeyIfUnchanged,
  updateApiKeyIfUnchanged,
  type ApiKeyRecord,
  type NewApiKey,
} from "../../db/credentials/api-keys.ts";
import { listEndpoints } from "../../db/endpoints.ts";
import { covers, missingIn, type Permissions } from "../../domain/accounts/permissions.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { removeHostsOfKey } from "../hosts/hosts.ts";
import { ServiceError } from "../../contract/errors.ts";
import { expiryOf, API_KEY_TTL_MIN_MS, type KeyChange, type NewKey } from "./api-key-input.ts";

export type { ApiKeyRecord };

/** Characters of a token that are stored to recognize it; 58 unknown ones follow. */
const HINT_LENGTH = 9;

export type IssuedToken = { readonly token: string; readonly stored: Pick<NewApiKey, "hash" | "hint"> };

/** A new token, and what is stored of it. */
export async function issueToken(): Promise<IssuedToken> {
  const token = generateCredential("api-key");
  return { token, stored: { hash: await hashKey(token), hint: token.slice(0, HINT_LENGTH) } };
}

/** The keys of the calling account, revoked and expired ones included, the newest first. */
export async function listOwnApiKeys({ db, principal }: RequestContext): Promise<readonly ApiKeyRecord[]> {
  return await listApiKeys(db, principal.accountId);
}

export async function createApiKey(
  context: RequestContext,
  input: NewKey,
): Promise<{ readonly apiKey: ApiKeyRecord; readonly token: string }> {
  const { name, permissions } = input;
  const expiresAt = expiryOf(input, context.now);
  if (expiresAt !== null && expiresAt < context.now + API_KEY_TTL_MIN_MS) {
    throw new ServiceError("invalid_input", "expiresAt: must be at least a minute ahead");
  }
  const { token, stored } = await issueToken();
  const values = { ...stored, name, permissions, expiresAt };
  const created = await retryOnConflict(async () => {
    const own = await requireOwnKey(context);
    requireGivable(own, { permissions, expiresAt }); // K1
    await requireEndpoints(context, permissions);
    await requireQuota(context, "apiKey");
    return await insertApiKeyIfAllowed(context.db, authorOf(context), own, values);
  });
  return { apiKey: created, token };
}

export async function changeApiKey(context: RequestContext, change: KeyChange): Promise<ApiKeyRecord> {
  const changed = await retryOnConflict(async () => {
    const own = await requireOwnKey(context);
    if (change.permissions) await requireEndpoints(context, change.permissions);
    const read = await requireTouchableKey(context, own, change.id); // K2
    if (read.revokedAt !== null) throw new ServiceError("invalid_input", "id: this key is revoked");
    const { name = read.name, permissions = read.permissions } = change;
    // What the key has anyhow is not given to it.
    if (!covers(read.permissions, permissions)) requireGivable(own, { ...read, permissions }); // K1
    return await updateApiKeyIfUnchanged(context.db, authorOf(context), own, read, { name, permissions });
  });
  forgetApiKey(changed.id);
  return changed;
}

/** Ends a key, and the hosts that it has let in unless they are kept. Revoking again ends those that were kept. */
export async function revokeApiKey(
  context: RequestContext,
  { id: apiKeyId, keepHosts = false }: { readonly id: string; readonly keepHosts?: boolean | undefined },
): Promise<void> {
  await retryOnConflict(async () => {
    const own = await requireOwnKey(context);
    const read = await requireTouchableKey(context, own, apiKeyId); // K2
    if (read.revokedAt !== null) return read;
    return await revokeApiKeyIfUnchanged(context.db, authorOf(context), own, read);
  });
  forgetApiKey(apiKeyId);
  if (!keepHosts) await removeHostsOfKey(context, apiKeyId);
}

/** The caller's key as it is in D1 now; throws when it is no longer allowed to change anything. */
export async function requireOwnKey({ db, principal, now }: RequestContext): Promise<ApiKeyRecord> {
  const own = await findApiKey(db, principal.accountId, principal.apiKeyId); // K3
  const isInForce = own?.revokedAt === null && (own.expiresAt === null || own.expiresAt > now);
  if (own === undefined || !isInForce) {
    throw new ServiceError("unauthorized", "Unauthorized: the API key was revoked or has expired.");
  }
  if (own.permissions.graphql !== "write") {
    throw lacking(`The API key '${own.name}' may not change anything any more.`);
  }
  return own;
}

async function requireTouchableKey(
  { db, principal }: RequestContext,
  own: ApiKeyRecord,
  apiKeyId: string,
): Promise<ApiKeyRecord> {
  const found = await findApiKey(db, principal.accountId, apiKeyId);
  if (found === undefined) {
    throw new ServiceError("api_key_not_found", `id: API key '${apiKeyId}' was not found`);
  }
  if (found.isRoot) {
    throw new ServiceError(
      "not_supported",
      "id: this is the operator's key of the environment, which gives access when every other key is lost; " +
        "it can be neither changed nor revoked here. Change or remove ROOT_API_KEY instead.",
    );
  }
  const missing = missingIn(own.permissions, found.permissions);
  if (missing === undefined) return found;
  throw lacking(
    `id: the API key '${found.name}' allows more than '${own.name}' (${missing}), which therefore cannot touch it. Use a key that holds it.`,
  );
}

type Given = { readonly permissions: Permissions; readonly expiresAt: number | null };

function requireGivable(own: ApiKeyRecord, { permissions, expiresAt }: Given): void {
  const missing = missingIn(own.permissions, permissions);
  if (missing !== undefined) {
    throw lacking(
      `permissions: the API key '${own.name}' cannot give what it does not hold (${missing}). Ask for less, or use a key that holds it.`,
    );
  }
  if (own.expiresAt !== null && (expiresAt === null || expiresAt > own.expiresAt)) {
    const end = new Date(own.expiresAt).toISOString();
    throw lacking(
      `expiresAt: the API key '${own.name}' expires at ${end} and cannot give access for longer. Set expiresAt to that or earlier.`,
    );
  }
}

async function requireEndpoints({ db, principal }: RequestContext, { endpoints }: Permissions) {
  if (typeof endpoints === "string") return;
  const existing = new Set((await listEndpoints(db, principal.accountId)).map(({ id }) => id));
  const unknown = Object.keys(endpoints).filter((id) => !existing.has(id));
  if (unknown.length === 0) return;
  const named = unknown.map((id) => `'${id}'`).join(", ");
  throw new ServiceError("endpoint_not_found", `permissions.endpoints: endpoint ${named} was not found`);
}

function lacking(message: string): ServiceError {
  return new ServiceError("insufficient_permission", message);
}

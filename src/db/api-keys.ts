import { and, eq, isNull } from "drizzle-orm";
import type { Permissions } from "../domain/permissions.ts";
import type { Database } from "./database.ts";
import { randomRowId } from "./row-id.ts";
import { account, apiKey } from "./schema.ts";

/** The account that the key of the environment opens. */
const ROOT_ACCOUNT_ID = "default";

export type FoundApiKey = {
  readonly apiKeyId: string;
  readonly accountId: string;
  readonly isRoot: boolean;
  readonly permissions: Permissions;
  readonly lastUsedAt: number | null;
};

/** Finds a key that is not revoked. */
export async function findApiKeyByHash(db: Database, hash: string): Promise<FoundApiKey | undefined> {
  return await db
    .select({
      apiKeyId: apiKey.id,
      accountId: apiKey.accountId,
      isRoot: apiKey.isRoot,
      permissions: apiKey.permissions,
      lastUsedAt: apiKey.lastUsedAt,
    })
    .from(apiKey)
    .where(and(eq(apiKey.hash, hash), isNull(apiKey.revokedAt)))
    .get();
}

/** Makes the account "default" and this key of it exist; a revoked key stays revoked. */
export async function ensureRootApiKey(db: Database, hash: string, now: number): Promise<void> {
  await db.batch([
    db
      .insert(account)
      .values({ id: ROOT_ACCOUNT_ID, name: ROOT_ACCOUNT_ID, createdAt: now })
      .onConflictDoNothing(),
    db
      .insert(apiKey)
      .values({
        id: randomRowId(),
        accountId: ROOT_ACCOUNT_ID,
        hash,
        name: "root",
        isRoot: true,
        createdAt: now,
      })
      .onConflictDoNothing({ target: apiKey.hash }),
  ]);
}

export async function recordApiKeyUse(db: Database, apiKeyId: string, now: number): Promise<void> {
  await db.update(apiKey).set({ lastUsedAt: now }).where(eq(apiKey.id, apiKeyId));
}

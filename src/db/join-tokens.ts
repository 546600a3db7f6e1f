import { and, eq, gt, isNull } from "drizzle-orm";
import type { Database } from "./database.ts";
import { joinToken } from "./schema.ts";

export async function createJoinToken(
  db: Database,
  values: {
    readonly hash: string;
    readonly accountId: string;
    readonly name: string | null;
    readonly expiresAt: number;
  },
  now: number,
): Promise<void> {
  await db.insert(joinToken).values({ ...values, createdAt: now });
}

/** Spends a token that is neither used nor expired; of several callers only one is served. */
export async function redeemJoinToken(
  db: Database,
  hash: string,
  now: number,
): Promise<{ readonly accountId: string } | undefined> {
  const [redeemed] = await db
    .update(joinToken)
    .set({ usedAt: now })
    .where(and(eq(joinToken.hash, hash), isNull(joinToken.usedAt), gt(joinToken.expiresAt, now)))
    .returning({ accountId: joinToken.accountId });
  return redeemed;
}

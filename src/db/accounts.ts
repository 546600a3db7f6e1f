import { eq } from "drizzle-orm";
import type { Database } from "./database.ts";
import { account } from "./schema.ts";

export type AccountRecord = typeof account.$inferSelect;

export async function findAccount(db: Database, accountId: string): Promise<AccountRecord | undefined> {
  return await db.select().from(account).where(eq(account.id, accountId)).get();
}

import { env } from "cloudflare:workers";
import { generateCredential } from "../../src/auth/credential.ts";
import { hashKey } from "../../src/auth/digest.ts";
import { openDatabase } from "../../src/db/database.ts";
import { account, apiKey } from "../../src/db/schema.ts";

export type TestAccount = { readonly accountId: string; readonly key: string; readonly keyHash: string };

/** An account of its own for one test, with a key that opens it. */
export async function freshAccount(): Promise<TestAccount> {
  const accountId = crypto.randomUUID();
  const key = generateCredential("api-key");
  const keyHash = await hashKey(key);
  const db = openDatabase(env.DB);
  await db.insert(account).values({ id: accountId, name: "test", createdAt: 1 });
  await db.insert(apiKey).values({
    id: crypto.randomUUID(),
    accountId,
    hash: keyHash,
    name: "test",
    isRoot: false,
    createdAt: 1,
  });
  return { accountId, key, keyHash };
}

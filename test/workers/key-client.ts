/** Keys of one account that may do less than everything. */
import { env } from "cloudflare:workers";
import { generateCredential } from "../../src/auth/credential.ts";
import { hashKey } from "../../src/auth/digest.ts";
import { openDatabase } from "../../src/db/database.ts";
import { apiKey } from "../../src/db/schema.ts";
import type { Permissions } from "../../src/domain/accounts/permissions.ts";

/** A key of the account that holds these permissions; its name is "limited". */
export async function keyWith(accountId: string, permissions: Permissions): Promise<string> {
  const key = generateCredential("api-key");
  await openDatabase(env.DB)
    .insert(apiKey)
    .values({
      id: crypto.randomUUID(),
      accountId,
      hash: await hashKey(key),
      name: "limited",
      permissions,
      isRoot: false,
      createdAt: 1,
    });
  return key;
}

/** REST v1 as its clients speak it. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { openDatabase } from "../../src/db/database.ts";
import { apiKey, auditEntry } from "../../src/db/schema.ts";
import type { Permissions } from "../../src/domain/accounts/permissions.ts";
import { freshAccount, type TestAccount } from "./accounts.ts";
import { EdgeClient } from "./edge-client.ts";
import { checkHosted } from "./hosted-answers.ts";

type Json = any; // oxlint-disable-line typescript/no-explicit-any -- answers are asserted, not typed

export type RestAnswer = { readonly status: number; readonly body: Json };

export type RestClient = TestAccount & {
  (method: string, path: string, body?: unknown): Promise<RestAnswer>;
  /** Saves a Serverless template and gives its id. */
  template(fields?: object): Promise<string>;
};

/** A client of a fresh account. */
export async function restClient(permissions?: Permissions): Promise<RestClient> {
  const account = await freshAccount();
  const db = openDatabase(env.DB);
  if (permissions) await db.update(apiKey).set({ permissions }).where(eq(apiKey.hash, account.keyHash));
  const { call } = new EdgeClient(account.key);
  const send = async (method: string, path: string, body?: unknown): Promise<RestAnswer> => {
    const answer = await call(method, `/v1${path}`, body);
    if (answer.status < 300) checkHosted(method, `/v1${path}`, answer.status, answer.body);
    return answer;
  };
  const template = async (fields: object = {}): Promise<string> => {
    const name = `template ${crypto.randomUUID()}`;
    const saved = await send("POST", "/templates", { name, imageName: "w:1", isServerless: true, ...fields });
    return saved.body.id;
  };
  return Object.assign(send, account, { template });
}

/** What the audit log says that an account's keys did. */
export async function auditedOperations(accountId: string): Promise<readonly string[]> {
  const entries = await openDatabase(env.DB)
    .select()
    .from(auditEntry)
    .where(eq(auditEntry.accountId, accountId))
    .orderBy(auditEntry.id);
  return entries.map(({ operation, subjectKind }) => `${operation} (${subjectKind})`);
}

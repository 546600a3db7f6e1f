/** Accounts: made by the operator, changed by themselves. */
import * as z from "zod";
import {
  findAccount,
  insertAccount,
  listAccounts,
  updateAccountSettings,
  type AccountRecord,
} from "../../db/accounts.ts";
import { OWNER_PERMISSIONS } from "../../domain/accounts/permissions.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { clearable, optionalNonEmpty, nameSchema, parseInput } from "../input-schemas.ts";
import { issueToken } from "./api-keys.ts";
import { ServiceError } from "../../contract/errors.ts";

export type { AccountRecord };

/** Public keys of an account, all together. */
const PUBLIC_KEYS_MAX_CHARACTERS = 65_536;

const newAccountSchema = z.object({
  name: nameSchema,
  email: optionalNonEmpty(z.email("must be an e-mail address")),
});

export const accountSettingsSchema = z.object({
  pubKey: clearable(
    z.string().max(PUBLIC_KEYS_MAX_CHARACTERS, `must have at most ${PUBLIC_KEYS_MAX_CHARACTERS} characters`),
  ),
});

/** Makes an account, with a first key that may do everything in it. */
export async function createAccount(
  context: RequestContext,
  input: unknown,
): Promise<{ readonly account: AccountRecord; readonly apiKey: string }> {
  requireOperator(context);
  const { name, email } = parseInput(newAccountSchema, input);
  const { token, stored } = await issueToken();
  const key = { ...stored, name: "first", permissions: OWNER_PERMISSIONS, expiresAt: null };
  const values = { name, email: email ?? null };
  return { account: await insertAccount(context.db, authorOf(context), values, key), apiKey: token };
}

/** Every account there is; for the operator. */
export async function allAccounts(context: RequestContext): Promise<readonly AccountRecord[]> {
  requireOperator(context);
  return await listAccounts(context.db);
}

/** The caller's own account. */
export async function readAccount({ db, principal }: RequestContext): Promise<AccountRecord> {
  const read = await findAccount(db, principal.accountId);
  if (read === undefined) throw new Error("The account of a key is gone.");
  return read;
}

/** Changes settings of the caller's own account. */
export async function changeAccountSettings(
  context: RequestContext,
  { pubKey }: z.output<typeof accountSettingsSchema>,
): Promise<AccountRecord> {
  const read = await readAccount(context);
  const settings = { pubKey: pubKey === undefined ? read.pubKey : pubKey };
  return await updateAccountSettings(context.db, authorOf(context), read, settings);
}

function requireOperator({ principal }: RequestContext): void {
  if (principal.isRoot) return;
  throw new ServiceError(
    "insufficient_permission",
    `Accounts are the operator's: the API key '${principal.name}' is not ROOT_API_KEY. Use that one.`,
  );
}

/**
 * Signing in to the console: a browser shows an API key, or follows a link, and gets a token in a cookie.
 *
 * S1  A sign-in has the rights of its key at the time of each request, and ends with it (auth/principal.ts).
 * S2  A link signs in one browser, within minutes.
 * S3  The API key itself is not kept, neither here nor in the browser.
 */
import { generateCredential, kindOfCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/digest.ts";
import { forgetSignIn } from "../../auth/principal.ts";
import { ServiceError } from "../../contract/errors.ts";
import {
  followLink,
  insertSignInWithinQuota,
  listSignIns,
  removeSignIn,
  type SignInRecord,
} from "../../db/credentials/sign-ins.ts";
import { openDatabase } from "../../db/database.ts";
import type { Env } from "../../env.ts";
import { authorOf, requireManagementAccess, retryOnConflict, type RequestContext } from "../context.ts";
import { requireQuota } from "../quota.ts";

export type { SignInRecord };

/** How long a browser stays signed in. */
export const SIGN_IN_TTL_MS = 7 * 86_400_000;
/** How long a link can be followed. */
export const SIGN_IN_LINK_TTL_MS = 15 * 60_000;
/** Length to which the name that a browser gives itself is cut. */
const CLIENT_MAX_CHARACTERS = 200;

/** The token of the cookie, and when it ends. */
export type IssuedSignIn = { readonly token: string; readonly expiresAt: number };

/** Signs a browser in with the caller's key. */
export async function signInWithKey(context: RequestContext): Promise<IssuedSignIn> {
  requireManagementAccess(context, "read");
  const token = generateCredential("sign-in");
  const values = { isLink: false, client: clientOf(context.userAgent) };
  const { expiresAt } = await insert(context, token, { ...values, expiresAt: context.now + SIGN_IN_TTL_MS });
  return { token, expiresAt };
}

/** Signs a browser in that followed a link; undefined for a link that is used up, has expired or never was (S2). */
export async function signInWithLink(
  env: Env,
  code: string,
  { userAgent, now }: { readonly userAgent: string; readonly now: number },
): Promise<IssuedSignIn | undefined> {
  if (kindOfCredential(code) !== "sign-in-link") return undefined;
  const token = generateCredential("sign-in");
  const expiresAt = now + SIGN_IN_TTL_MS;
  const values = { hash: await hashKey(token), client: clientOf(userAgent), expiresAt, now };
  const followed = await followLink(openDatabase(env.DB), await hashKey(code), values);
  return followed && { token, expiresAt };
}

/** Makes a link that signs one browser in with the rights of the caller's key. */
export async function createSignInLink(
  context: RequestContext,
): Promise<{ readonly url: string; readonly expiresAt: number }> {
  const code = generateCredential("sign-in-link");
  const values = { isLink: true, client: "", expiresAt: context.now + SIGN_IN_LINK_TTL_MS };
  const { expiresAt } = await insert(context, code, values);
  // A fragment is sent to nobody and stands in no log.
  return { url: `${context.origin}/sign-in#${code}`, expiresAt };
}

/** The account's browsers that are signed in, and links that nobody has followed, the newest first. */
export async function listOwnSignIns({
  db,
  principal,
  now,
}: RequestContext): Promise<readonly SignInRecord[]> {
  return await listSignIns(db, principal.accountId, now);
}

/** Ends a sign-in of the account: here at once, everywhere within CREDENTIAL_CACHE_MS. */
export async function endSignIn(context: RequestContext, { id }: { readonly id: string }): Promise<void> {
  const hasEnded = await removeSignIn(context.db, authorOf(context), id);
  forgetSignIn(id);
  if (!hasEnded) throw new ServiceError("sign_in_not_found", `id: sign-in '${id}' was not found`);
}

async function insert(
  context: RequestContext,
  credential: string,
  values: Pick<SignInRecord, "isLink" | "client" | "expiresAt">,
): Promise<SignInRecord> {
  const hash = await hashKey(credential);
  return await retryOnConflict(async () => {
    await requireQuota(context, "signIn");
    return await insertSignInWithinQuota(context.db, authorOf(context), { ...values, hash });
  });
}

function clientOf(userAgent = ""): string {
  return userAgent.slice(0, CLIENT_MAX_CHARACTERS);
}

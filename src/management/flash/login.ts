/**
 * Login in the browser: a client opens a request, a user with a key approves it, the client fetches a key of
 * its own.
 *
 * L1  The id of a request is what opens its key, so it cannot be guessed; its first characters are the code by which
 *     the user sees that it is the client in front of them.
 * L2  The key holds what the approver's key holds and no longer, as in api-keys.ts.
 * L3  The key stands sealed in the request from its approval until it was fetched, once, or the request expired.
 * L4  A caller without a key makes the edge store nothing: a request is in its id until it is decided (login-request.ts).
 */
import * as z from "zod";
import { open, seal, type SealedPlace } from "../../auth/envelope.ts";
import {
  newLoginRequest,
  readLoginRequest,
  type LoginRequest,
  type LoginOptions,
} from "../../auth/login-request.ts";
import type { AuthRequestStatus } from "../../contract/flash/flash-names.ts";
import type { ApiKeyRecord } from "../../db/credentials/api-keys.ts";
import {
  approveIfPending,
  consumeIfApproved,
  denyIfPending,
  findAuthRequest,
  type FlashAuthRecord,
} from "../../db/flash/auth-requests.ts";
import { logFailure } from "../failure-log.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, type RequestContext } from "../context.ts";
import { openingKeys, requireSealingKeys } from "../secrets/sealing-keys.ts";
import { idSchema, nameSchema, oneOf, optional, optionalNonEmpty, stringSchema } from "../input-schemas.ts";
import { issueToken, requireOwnKey } from "../accounts/api-keys.ts";
import { ServiceError } from "../../contract/errors.ts";

/** Length to which the name that a client gives itself is cut. */
const FLASH_AUTH_CLIENT_MAX_CHARACTERS = 200;

export type { FlashAuthRecord };

const DATE_LENGTH = "2027-01-31".length;

export const decisionSchema = z.object({
  flashAuthRequestId: idSchema,
  isApproved: z.boolean("must be true or false"),
});
export type Decision = z.output<typeof decisionSchema>;

export const loginOptionsSchema = z.object({
  codeChallenge: optionalNonEmpty(
    stringSchema.regex(/^[\w-]{43}$/, "must be a SHA-256 in base64url, of 43 characters"),
  ),
  codeChallengeMethod: optional(oneOf(["S256"])),
  apiKeyName: optionalNonEmpty(nameSchema),
});

/** A request with what its client has said when it opened it. */
export type Login = FlashAuthRecord & { readonly options: LoginOptions };

/** Opens a request for the client that asks. */
export async function openLogin(
  { env, now, userAgent = "" }: RequestContext,
  { codeChallenge, apiKeyName: keyName }: z.output<typeof loginOptionsSchema>,
): Promise<Login> {
  requireSealingKeys(env); // without one it could not be approved
  const client = userAgent.slice(0, FLASH_AUTH_CLIENT_MAX_CHARACTERS);
  const request = await newLoginRequest(env, { client, options: { codeChallenge, keyName } }, now);
  if (request === undefined) throw new ServiceError("not_configured", "Logins cannot be signed.");
  return undecided(request);
}

/** A request, for any caller that knows its id. */
export async function requireLogin({ env, db, now }: RequestContext, id: string): Promise<Login> {
  requireSealingKeys(env);
  const request = await readLoginRequest(env, id, now);
  if (request !== undefined) return { ...undecided(request), ...(await findAuthRequest(db, id)) };
  throw new ServiceError(
    "invalid_input",
    "flashAuthRequestId: there is no such login, or it expired long ago. Run flash login again.",
  );
}

function undecided(request: LoginRequest): Login {
  return { ...request, accountId: null, status: "PENDING", sealedKey: null };
}

/** What has become of a request by now. */
export function statusOf({ status, expiresAt }: FlashAuthRecord, now: number): AuthRequestStatus {
  return (status === "PENDING" || status === "APPROVED") && expiresAt <= now ? "EXPIRED" : status;
}

/** The key of an approved request; null at all later times (L3). */
export async function fetchKey(
  { env, db, now }: RequestContext,
  request: FlashAuthRecord,
): Promise<string | null> {
  const { accountId, sealedKey } = request;
  if (accountId === null || sealedKey === null) return null;
  if (!(await consumeIfApproved(db, request, now))) return null;
  const opening = await open(openingKeys(env), placeOf(accountId, request.id), sealedKey);
  if (opening.kind === "opened") return opening.plaintext;
  logFailure("sealed_text_unopenable", { kind: "flash_login", id: "" }, new Error(opening.kind));
  throw new ServiceError("not_configured", "The key does not open any more. Run flash login again.");
}

/** Approves a request with the caller's key, or denies it. */
export async function decideLogin(
  context: RequestContext,
  { flashAuthRequestId, isApproved }: Decision,
): Promise<Login> {
  return await retryOnConflict(async () => {
    const own = await requireOwnKey(context);
    const request = await requireLogin(context, flashAuthRequestId);
    requirePending(request, context.now);
    const decided = isApproved
      ? await approve(context, own, request)
      : await denyIfPending(context.db, authorOf(context), request);
    return decided && { ...request, ...decided };
  });
}

async function approve(
  context: RequestContext,
  own: ApiKeyRecord,
  request: Login,
): Promise<FlashAuthRecord | undefined> {
  const keys = requireSealingKeys(context.env);
  await requireQuota(context, "apiKey");
  const { token, stored } = await issueToken();
  const sealedKey = await seal(keys, placeOf(own.accountId, request.id), token);
  const { permissions, expiresAt } = own; // L2
  const date = new Date(context.now).toISOString().slice(0, DATE_LENGTH);
  const name = request.options.keyName ?? `flash login ${date}`;
  const values = { ...stored, name, permissions, expiresAt };
  return await approveIfPending(context.db, authorOf(context), { request, own, values, sealedKey });
}

function requirePending(request: FlashAuthRecord, now: number): void {
  const status = statusOf(request, now);
  if (status === "PENDING") return;
  throw new ServiceError(
    "invalid_input",
    `flashAuthRequestId: this login is ${status.toLowerCase()} already. Run flash login again.`,
  );
}

function placeOf(accountId: string, requestId: string): SealedPlace {
  return { accountId, kind: "flash_login", rowId: requestId };
}

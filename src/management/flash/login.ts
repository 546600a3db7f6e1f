/**
 * Login in the browser: a client opens a request, a person who holds a key approves it, the client fetches a key of
 * its own.
 *
 * L1  The id of a request is what opens its key, so it cannot be guessed; its first characters are the code by which
 *     the person sees that it is the client in front of him.
 * L2  The key holds what the approver's key holds and no longer, as in api-keys.ts.
 * L3  The key stands sealed in the request from its approval until it was fetched, once, or the request expired.
 */
import * as z from "zod";
import { open, seal, type SealedPlace } from "../../auth/envelope.ts";
import type { AuthRequestStatus } from "../../contract/flash.ts";
import {
  FLASH_AUTH_CLIENT_MAX_CHARACTERS,
  FLASH_AUTH_LIFE_MS,
  FLASH_AUTH_OPEN_MAX,
  FLASH_AUTH_PER_PLACE_MAX,
} from "../../contract/limits.ts";
import type { ApiKeyRecord } from "../../db/api-keys.ts";
import {
  approveIfPending,
  consumeIfApproved,
  denyIfPending,
  findAuthRequest,
  insertAuthRequestIfRoom,
  type FlashAuthRecord,
} from "../../db/flash-auth-requests.ts";
import { logFailure } from "../../failure-log.ts";
import { requireRoom } from "../account-room.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { openingRing, requireSealingRing } from "../encryption/sealing-ring.ts";
import { plainText } from "../input.ts";
import { issueToken, requireOwnKey } from "../keys/api-keys.ts";
import { mayOpenLogin } from "./login-places.ts";
import { OperationError } from "../operation-error.ts";
import { untilUnchanged } from "../optimistic-write.ts";

const ID_LENGTH = 32;
/** Base32 of RFC 4648: a person compares the first of them, in capitals. */
const ID_SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const DATE_LENGTH = "2027-01-31".length;

export const decisionSchema = z.object({
  flashAuthRequestId: plainText.min(1, "must not be empty"),
  isApproved: z.boolean("must be true or false"),
});
export type Decision = z.output<typeof decisionSchema>;

/** Opens a request for the client that asks. */
export async function openLogin({
  db,
  now,
  userAgent = "",
  clientAddress,
}: RequestContext): Promise<FlashAuthRecord> {
  if (clientAddress !== undefined && !mayOpenLogin(clientAddress, now)) throw tooManyFrom(clientAddress);
  const client = userAgent.slice(0, FLASH_AUTH_CLIENT_MAX_CHARACTERS);
  const request = { id: randomId(), client, createdAt: now, expiresAt: now + FLASH_AUTH_LIFE_MS };
  const opened = await insertAuthRequestIfRoom(db, request, FLASH_AUTH_OPEN_MAX);
  if (opened !== undefined) return opened;
  throw new OperationError(
    "LIMIT_REACHED",
    `${FLASH_AUTH_OPEN_MAX} logins wait to be approved, which is as many as there may be. Try again in some minutes, or set SVC_API_KEY.`,
  );
}

function tooManyFrom(clientAddress: string): OperationError {
  return new OperationError(
    "LIMIT_REACHED",
    `${FLASH_AUTH_PER_PLACE_MAX} logins were opened from ${clientAddress} of late. Try again in some minutes, or set SVC_API_KEY.`,
  );
}

/** A request, to whoever knows its id. */
export async function requireLogin({ db }: RequestContext, id: string): Promise<FlashAuthRecord> {
  const request = await findAuthRequest(db, id);
  if (request !== undefined) return request;
  throw new OperationError(
    "INVALID_INPUT",
    "flashAuthRequestId: there is no such login, or it expired long ago. Run flash login again.",
  );
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
  const opening = await open(openingRing(env), placeOf(accountId, request.id), sealedKey);
  if (opening.kind === "opened") return opening.text;
  logFailure("sealed_text_unopenable", { kind: "flash_login", id: "" }, new Error(opening.kind));
  throw new OperationError("NOT_CONFIGURED", "The key does not open any more. Run flash login again.");
}

/** Approves a request with the caller's key, or denies it. */
export async function decideLogin(
  context: RequestContext,
  { flashAuthRequestId, isApproved }: Decision,
): Promise<FlashAuthRecord> {
  return await untilUnchanged(async () => {
    const own = await requireOwnKey(context);
    const request = await requireLogin(context, flashAuthRequestId);
    requirePending(request, context.now);
    return isApproved
      ? await approve(context, own, request)
      : await denyIfPending(context.db, authorOf(context), request);
  });
}

async function approve(
  context: RequestContext,
  own: ApiKeyRecord,
  request: FlashAuthRecord,
): Promise<FlashAuthRecord | undefined> {
  const ring = requireSealingRing(context.env);
  await requireRoom(context, "apiKey");
  const { token, stored } = await issueToken();
  const sealedKey = await seal(ring, placeOf(own.accountId, request.id), token);
  const { permissions, expiresAt } = own; // L2
  const name = `flash login ${new Date(context.now).toISOString().slice(0, DATE_LENGTH)}`;
  const values = { ...stored, name, permissions, expiresAt };
  return await approveIfPending(context.db, authorOf(context), { request, own, values, sealedKey });
}

function requirePending(request: FlashAuthRecord, now: number): void {
  const status = statusOf(request, now);
  if (status === "PENDING") return;
  throw new OperationError(
    "INVALID_INPUT",
    `flashAuthRequestId: this login is ${status.toLowerCase()} already. Run flash login again.`,
  );
}

function placeOf(accountId: string, requestId: string): SealedPlace {
  return { accountId, kind: "flash_login", rowId: requestId };
}

/** 160 random bits: the number of symbols divides that of bytes, so each is as likely as any other. */
function randomId(): string {
  let id = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(ID_LENGTH))) {
    id += ID_SYMBOLS.charAt(byte % ID_SYMBOLS.length);
  }
  return id;
}

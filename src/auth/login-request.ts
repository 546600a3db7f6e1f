/**
 * Undecided requests to log in. The id of a request carries all of it, signed under the key ring, so that opening one
 * needs no key and stores nothing: a row is written when a user decides.
 */
import { Signer, type EncryptionEnv } from "./derived-keys.ts";
import { hex } from "./digest.ts";

/** How long a login in the browser waits for the user. */
export const FLASH_AUTH_TTL_MS = 10 * 60_000;
/** How long an expired login is remembered, so that its client learns what became of it. */
export const FLASH_AUTH_RETENTION_MS = 3_600_000;

/** What a client may say when it opens a request; neither text has a line break. */
export type LoginOptions = {
  /** Given back with the state of the request, so that the client knows who began the login: RFC 7636, S256. */
  readonly codeChallenge?: string | undefined;
  /** Name of the key that it gets. */
  readonly keyName?: string | undefined;
};

export type LoginRequest = {
  /** Its holder gets the key. Its first characters are random, and the code that users compare. */
  readonly id: string;
  /** As the client names itself. */
  readonly client: string;
  readonly options: LoginOptions;
  readonly createdAt: number;
  readonly expiresAt: number;
};

const signer = new Signer("edgerun flash login");

/** Random part, expiry, lines of client, challenge and name of the key in UTF-8, and signature; both in hex. */
const FORM = /^([A-Z2-7]{32}\.(\d{1,15})\.((?:[0-9a-f]{2})*))\.([0-9a-f]{32})$/;
const RANDOM_LENGTH = 32;
/** Base32 of RFC 4648: a user compares the first of them, in capitals. */
const SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const SIGNATURE_BYTES = 16;

/** A new request; none when no key ring is configured. */
export async function newLoginRequest(
  env: EncryptionEnv,
  { client, options }: Pick<LoginRequest, "client" | "options">,
  now: number,
): Promise<LoginRequest | undefined> {
  const expiresAt = now + FLASH_AUTH_TTL_MS;
  const { codeChallenge = "", keyName = "" } = options;
  const lines = codeChallenge || keyName ? [client, codeChallenge, keyName].join("\n") : client;
  const payload = `${randomCode()}.${expiresAt}.${hex(new TextEncoder().encode(lines))}`;
  const signature = await signer.sign(env, payload);
  if (!signature) return undefined;
  const id = `${payload}.${encodeSignature(signature)}`;
  return { id, client, options, createdAt: now, expiresAt };
}

/** The request of an id; none for one that the edge has not made, or that expired long ago. */
export async function readLoginRequest(
  env: EncryptionEnv,
  id: string,
  now: number,
): Promise<LoginRequest | undefined> {
  const [, payload = "", expiry = "", text = "", signed = ""] = FORM.exec(id) ?? [];
  const expiresAt = Number(expiry);
  if (expiresAt + FLASH_AUTH_RETENTION_MS < now) return undefined;
  if (!(await signer.verify(env, payload, encodeSignature, signed))) return undefined;
  const bytes = Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  const [client = "", codeChallenge, keyName] = new TextDecoder().decode(bytes).split("\n");
  const options = { codeChallenge: codeChallenge || undefined, keyName: keyName || undefined };
  return { id, client, options, createdAt: expiresAt - FLASH_AUTH_TTL_MS, expiresAt };
}

/** 160 random bits: the number of symbols divides that of bytes, so each is as likely as any other. */
function randomCode(): string {
  let code = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_LENGTH))) {
    code += SYMBOLS.charAt(byte % SYMBOLS.length);
  }
  return code;
}

function encodeSignature(signature: Uint8Array): string {
  return hex(signature.subarray(0, SIGNATURE_BYTES));
}

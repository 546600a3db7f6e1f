/**
 * Requests to log in that nobody has decided yet. All there is to know of one stands in its id, signed under the key
 * ring, so that anybody may open one and none of them takes room: a row is written when a person decides.
 */
import { FLASH_AUTH_KEPT_MS, FLASH_AUTH_LIFE_MS } from "../contract/flash-limits.ts";
import { RingSigner, type RingEnv } from "./ring-signer.ts";
import { isSameText } from "./same-text.ts";

export type LoginRequest = {
  /** Its holder gets the key. Its first characters are random, and the code that people compare. */
  readonly id: string;
  /** What the client says it is. */
  readonly client: string;
  readonly createdAt: number;
  readonly expiresAt: number;
};

const signer = new RingSigner("edgerun flash login");

/** Random part, expiry, client in UTF-8 and signature; both in hex. */
const FORM = /^([A-Z2-7]{32}\.(\d{1,15})\.((?:[0-9a-f]{2})*))\.([0-9a-f]{32})$/;
const RANDOM_LENGTH = 32;
/** Base32 of RFC 4648: a person compares the first of them, in capitals. */
const SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const SIGNATURE_BYTES = 16;

/** A new request; none when no key ring is configured. */
export async function newLoginRequest(
  env: RingEnv,
  client: string,
  now: number,
): Promise<LoginRequest | undefined> {
  const expiresAt = now + FLASH_AUTH_LIFE_MS;
  const said = `${randomPart()}.${expiresAt}.${hex(new TextEncoder().encode(client))}`;
  const signature = await signer.sign(env, said);
  return signature && { id: `${said}.${written(signature)}`, client, createdAt: now, expiresAt };
}

/** The request of an id; none for one that nobody has made, or that expired long ago. */
export async function readLoginRequest(
  env: RingEnv,
  id: string,
  now: number,
): Promise<LoginRequest | undefined> {
  const [, said = "", expiry = "", client = "", signed = ""] = FORM.exec(id) ?? [];
  const expiresAt = Number(expiry);
  if (expiresAt + FLASH_AUTH_KEPT_MS < now) return undefined;
  const right = await signer.signAll(env, said);
  if (!right.map((signature) => isSameText(written(signature), signed)).includes(true)) return undefined;
  const bytes = client.match(/../g) ?? [];
  const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => Number.parseInt(byte, 16)));
  return { id, client: text, createdAt: expiresAt - FLASH_AUTH_LIFE_MS, expiresAt };
}

/** 160 random bits: the number of symbols divides that of bytes, so each is as likely as any other. */
function randomPart(): string {
  let text = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_LENGTH))) {
    text += SYMBOLS.charAt(byte % SYMBOLS.length);
  }
  return text;
}

function written(signature: Uint8Array): string {
  return hex(signature.subarray(0, SIGNATURE_BYTES));
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

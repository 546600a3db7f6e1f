/**
 * Envelope encryption of what the edge must be able to read again.
 *
 * E1  Each value has its own data key. The value is sealed with AES-256-GCM under the data key, the data
 *     key under a key that HKDF derives from the newest key of the ring.
 * E2  Both layers are bound to account, kind and row: a text that was copied elsewhere does not open.
 * E3  A text has one spelling: what is changed in any way does not open.
 * E4  A change of the ring re-wraps data keys alone; values are neither opened nor sealed again.
 *
 * Text form: `v1:<key id>:<nonce and sealed data key>:<nonce and sealed value>`, base64url without padding.
 */
import type { EncryptionKey } from "./encryption-keys.ts";

/** Where a sealed text lives; it opens there and nowhere else. */
export type SealedPlace = {
  readonly accountId: string;
  readonly kind: "secret" | "registry_auth" | "webhook_secret" | "flash_login";
  readonly rowId: string;
};

/** The newest key comes first; there is at least one. */
export type SealingKeys = readonly [EncryptionKey, ...EncryptionKey[]];

export type Opening =
  | { readonly kind: "opened"; readonly plaintext: string }
  | { readonly kind: "key_missing"; readonly keyId: string }
  /** Changed, copied from elsewhere, or sealed under another key of the same id. */
  | { readonly kind: "damaged" };

export type Rewrapping =
  | { readonly kind: "rewrapped"; readonly sealed: string }
  | Exclude<Opening, { kind: "opened" }>;

const VERSION = "v1";
const NONCE_BYTES = 12;
/** As many arguments as a call may have anywhere. */
const PIECE_BYTES = 8_192;
const DATA_KEY_BYTES = 32;
const FORM = /^v1:([a-z0-9-]{1,32}):([A-Za-z0-9_-]+):([A-Za-z0-9_-]+)$/;
const WRAPPING = "edgerun envelope v1: data keys";

type Envelope = { readonly keyId: string; readonly dataKey: Bytes; readonly value: string };
type Bytes = Uint8Array<ArrayBuffer>;
type AesKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Seals a text, which must be well-formed Unicode, under the ring's newest key. */
export async function seal([newest]: SealingKeys, place: SealedPlace, plaintext: string): Promise<string> {
  const dataKey = crypto.getRandomValues(new Uint8Array(DATA_KEY_BYTES));
  const value = await encrypt(await importDataKey(dataKey), valueBinding(place), encodeUtf8(plaintext));
  return await wrap(newest, place, dataKey, toBase64Url(value));
}

/** Opens a text in its place; reports which key is missing, and nothing more about a text that does not open. */
export async function open(
  keys: readonly EncryptionKey[],
  place: SealedPlace,
  sealed: string,
): Promise<Opening> {
  const unwrapped = await unwrap(keys, place, sealed);
  if (unwrapped.kind !== "unwrapped") return unwrapped;
  const value = fromBase64Url(unwrapped.value);
  const key = await importDataKey(unwrapped.dataKey);
  const bytes = value && (await decrypt(key, valueBinding(place), value));
  if (bytes === undefined) return { kind: "damaged" };
  return {
    kind: "opened",
    plaintext: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
  };
}

/** Puts the data key of a sealed text under the ring's newest key. */
export async function rewrap(keys: SealingKeys, place: SealedPlace, sealed: string): Promise<Rewrapping> {
  const unwrapped = await unwrap(keys, place, sealed);
  if (unwrapped.kind !== "unwrapped") return unwrapped;
  const { dataKey, value } = unwrapped;
  return { kind: "rewrapped", sealed: await wrap(keys[0], place, dataKey, value) };
}

/** How texts begin that are sealed under a key; it holds no character that means something in a LIKE. */
export function sealedPrefix(keyId: string): string {
  return `${VERSION}:${keyId}:`;
}

// The outer layer

async function wrap(key: EncryptionKey, place: SealedPlace, dataKey: Bytes, value: string): Promise<string> {
  const wrapped = await encrypt(await deriveWrappingKey(key), keyBinding(key.id, place), dataKey);
  return `${sealedPrefix(key.id)}${toBase64Url(wrapped)}:${value}`;
}

async function unwrap(keys: readonly EncryptionKey[], place: SealedPlace, sealed: string) {
  const envelope = readForm(sealed);
  if (envelope === undefined) return { kind: "damaged" as const };
  const key = keys.find(({ id }) => id === envelope.keyId);
  if (key === undefined) return { kind: "key_missing" as const, keyId: envelope.keyId };
  const dataKey = await decrypt(await deriveWrappingKey(key), keyBinding(key.id, place), envelope.dataKey);
  if (dataKey?.length !== DATA_KEY_BYTES) return { kind: "damaged" as const };
  return { kind: "unwrapped" as const, dataKey, value: envelope.value };
}

function readForm(sealed: string): Envelope | undefined {
  const [, keyId, wrapped, value] = FORM.exec(sealed) ?? [];
  const dataKey = wrapped && fromBase64Url(wrapped);
  return keyId && dataKey && value ? { keyId, dataKey, value } : undefined;
}

// Cryptography

function keyBinding(keyId: string, { accountId, kind, rowId }: SealedPlace): Bytes {
  return encodeUtf8(JSON.stringify(["edgerun", VERSION, "data key", keyId, accountId, kind, rowId]));
}

function valueBinding({ accountId, kind, rowId }: SealedPlace): Bytes {
  return encodeUtf8(JSON.stringify(["edgerun", VERSION, "value", accountId, kind, rowId]));
}

async function deriveWrappingKey({ bytes }: EncryptionKey): Promise<AesKey> {
  const material = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encodeUtf8(WRAPPING) };
  const purpose = { name: "AES-GCM", length: 256 };
  return await crypto.subtle.deriveKey(derivation, material, purpose, false, ["encrypt", "decrypt"]);
}

async function importDataKey(bytes: Bytes): Promise<AesKey> {
  return await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

async function encrypt(key: AesKey, binding: Bytes, bytes: Bytes): Promise<Bytes> {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const settings = { name: "AES-GCM", iv: nonce, additionalData: binding };
  const encrypted = await crypto.subtle.encrypt(settings, key, bytes);
  const whole = new Uint8Array(NONCE_BYTES + encrypted.byteLength);
  whole.set(nonce);
  whole.set(new Uint8Array(encrypted), NONCE_BYTES);
  return whole;
}

/** Nothing when the bytes are not what was encrypted under this key and binding. */
async function decrypt(key: AesKey, binding: Bytes, whole: Bytes): Promise<Bytes | undefined> {
  const settings = { name: "AES-GCM", iv: whole.subarray(0, NONCE_BYTES), additionalData: binding };
  try {
    return new Uint8Array(await crypto.subtle.decrypt(settings, key, whole.subarray(NONCE_BYTES)));
  } catch {
    return undefined;
  }
}

// Text and bytes

function encodeUtf8(plaintext: string): Bytes {
  return new Uint8Array(new TextEncoder().encode(plaintext));
}

function toBase64Url(bytes: Bytes): string {
  let binary = "";
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    binary += Reflect.apply(String.fromCharCode, undefined, bytes.subarray(from, from + PIECE_BYTES));
  }
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Nothing for a text that is not the one spelling of its bytes (E3): the last digit may have spare bits. */
function fromBase64Url(plaintext: string): Bytes | undefined {
  if (plaintext.length % 4 === 1) return undefined;
  const binary = atob(plaintext.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  const rest = binary.length % 3;
  return plaintext.endsWith(toBase64Url(bytes.subarray(bytes.length - rest))) ? bytes : undefined;
}

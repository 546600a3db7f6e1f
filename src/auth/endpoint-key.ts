/**
 * The key of one endpoint: opens the queue API of that endpoint and nothing else. It is derived from the
 * endpoint's id and the key ring, so that it can be shown at any time and is stored nowhere. The newest key
 * of the ring makes it; all others still recognise theirs.
 */
import type { Env } from "../env.ts";
import { credentialOf } from "./credential.ts";
import { readKeyRing, type RingKey } from "./key-ring.ts";
import { isSameText } from "./same-text.ts";

type RingEnv = Pick<Env, "ENCRYPTION_KEYS">;

const encoder = new TextEncoder();
/** Keeps these keys apart from all others that are derived from the ring. */
const PURPOSE = encoder.encode("edgerun endpoint key");

let known: { readonly ring: string | undefined; readonly signers: readonly CryptoKey[] } | undefined;

/** The endpoint's key; none when no key ring is configured. */
export async function endpointKey(env: RingEnv, endpointId: string): Promise<string | undefined> {
  const [newest] = await signersOf(env);
  return newest && (await keyBy(newest, endpointId));
}

/** Says whether this is a key of this endpoint, in a time that does not depend on how much of it fits. */
export async function isEndpointKey(env: RingEnv, endpointId: string, key: string): Promise<boolean> {
  const signers = await signersOf(env);
  const right = await Promise.all(signers.map((signer) => keyBy(signer, endpointId)));
  return right.map((candidate) => isSameText(candidate, key)).includes(true);
}

async function signersOf(env: RingEnv): Promise<readonly CryptoKey[]> {
  const ring = env.ENCRYPTION_KEYS;
  if (known === undefined || known.ring !== ring) {
    known = { ring, signers: await Promise.all(readKeyRing(env).map(deriveSigner)) };
  }
  return known.signers;
}

async function deriveSigner({ bytes }: RingKey): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveKey"]);
  return await crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: PURPOSE },
    material,
    { name: "HMAC", hash: "SHA-256", length: 256 },
    false,
    ["sign"],
  );
}

async function keyBy(signer: CryptoKey, endpointId: string): Promise<string> {
  const signature = await crypto.subtle.sign("HMAC", signer, encoder.encode(endpointId));
  return credentialOf("endpoint-key", new Uint8Array(signature));
}

/**
 * Signatures under the key ring, for keys that are derived from an id instead of being stored. The newest key of
 * the ring makes them; all others still recognise theirs.
 */
import type { Env } from "../env.ts";
import { readKeyRing, type RingKey } from "./key-ring.ts";

export type RingEnv = Pick<Env, "ENCRYPTION_KEYS">;

type Signers = { readonly ring: string | undefined; readonly keys: readonly CryptoKey[] };

const encoder = new TextEncoder();

export class RingSigner {
  readonly #purpose: string;
  #known: Signers | undefined;

  /** What is signed for one purpose says nothing of what is signed for another. */
  constructor(purpose: string) {
    this.#purpose = purpose;
  }

  /** By the newest key; none when no key ring is configured. */
  async sign(env: RingEnv, text: string): Promise<Uint8Array | undefined> {
    const [newest] = await this.#keysOf(env);
    return newest && (await signatureBy(newest, text));
  }

  /** By every key. */
  async signAll(env: RingEnv, text: string): Promise<readonly Uint8Array[]> {
    const keys = await this.#keysOf(env);
    return await Promise.all(keys.map((key) => signatureBy(key, text)));
  }

  async #keysOf(env: RingEnv): Promise<readonly CryptoKey[]> {
    const ring = env.ENCRYPTION_KEYS;
    if (this.#known === undefined || this.#known.ring !== ring) {
      const keys = readKeyRing(env).map((key) => this.#derive(key));
      this.#known = { ring, keys: await Promise.all(keys) };
    }
    return this.#known.keys;
  }

  async #derive({ bytes }: RingKey): Promise<CryptoKey> {
    const material = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveKey"]);
    return await crypto.subtle.deriveKey(
      { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(this.#purpose) },
      material,
      { name: "HMAC", hash: "SHA-256", length: 256 },
      false,
      ["sign"],
    );
  }
}

async function signatureBy(key: CryptoKey, text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
}

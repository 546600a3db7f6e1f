/**
 * Signatures under the key ring, for keys that are derived from an id instead of being stored. The newest key of
 * the ring makes them; all others still recognise theirs.
 */
import type { Env } from "../../env.ts";
import { readEncryptionKeys, type EncryptionKey } from "../encryption-keys.ts";

export type EncryptionEnv = Pick<Env, "ENCRYPTION_KEYS">;

type DerivedKeys = { readonly setting: string | undefined; readonly keys: readonly CryptoKey[] };

const encoder = new TextEncoder();

export class Signer {
  readonly #purpose: string;
  #cached: DerivedKeys | undefined;

  /** What is signed for one purpose says nothing of what is signed for another. */
  constructor(purpose: string) {
    this.#purpose = purpose;
  }

  /** By the newest key; none when no key ring is configured. */
  async sign(env: EncryptionEnv, message: string): Promise<Uint8Array | undefined> {
    const [newest] = await this.#keysOf(env);
    return newest && (await signatureBy(newest, message));
  }

  /** By every key. */
  async signAll(env: EncryptionEnv, message: string): Promise<readonly Uint8Array[]> {
    const keys = await this.#keysOf(env);
    return await Promise.all(keys.map((key) => signatureBy(key, message)));
  }

  async #keysOf(env: EncryptionEnv): Promise<readonly CryptoKey[]> {
    const setting = env.ENCRYPTION_KEYS;
    if (this.#cached === undefined || this.#cached.setting !== setting) {
      const keys = readEncryptionKeys(env).map((key) => this.#derive(key));
      this.#cached = { setting, keys: await Promise.all(keys) };
    }
    return this.#cached.keys;
  }

  async #derive({ bytes }: EncryptionKey): Promise<CryptoKey> {
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

async function signatureBy(key: CryptoKey, message: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(message)));
}

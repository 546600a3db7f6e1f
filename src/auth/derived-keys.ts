/**
 * Keys and tokens that are derived from an id and the key ring, so that they can be shown at any time and are stored
 * nowhere. The newest key of the ring signs; signatures of the older ones are still recognized.
 */
import type { Env } from "../env.ts";
import { readEncryptionKeys, type EncryptionKey } from "./encryption-keys.ts";
import { credentialOf } from "./credential.ts";
import { hex } from "./digest.ts";

export type EncryptionEnv = Pick<Env, "ENCRYPTION_KEYS">;

type DerivedKeys = { readonly setting: string | undefined; readonly keys: readonly CryptoKey[] };

const encoder = new TextEncoder();

export class Signer {
  readonly #purpose: string;
  #cached: DerivedKeys | undefined;

  /** Signatures of one purpose reveal nothing about those of another. */
  constructor(purpose: string) {
    this.#purpose = purpose;
  }

  /** By the newest key; none when no key ring is configured. */
  async sign(env: EncryptionEnv, message: string): Promise<Uint8Array | undefined> {
    const [newest] = await this.#keysOf(env);
    return newest && (await signatureBy(newest, message));
  }

  /** Whether any key of the ring makes this signature, in a time that does not depend on how much of it matches. */
  async verify(
    env: EncryptionEnv,
    message: string,
    encode: (signature: Uint8Array) => string,
    signed: string,
  ): Promise<boolean> {
    const signatures = await Promise.all((await this.#keysOf(env)).map((key) => signatureBy(key, message)));
    return signatures.map((signature) => timingSafeEqual(encode(signature), signed)).includes(true);
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

const liveTokens = new Signer("edgerun live token");
const endpointKeys = new Signer("edgerun endpoint key");
const environmentKeys = new Signer("edgerun flash environment key");
const podKeys = new Signer("edgerun pod key");
const downloads = new Signer("edgerun artifact download");

/**
 * The token of one session, with which its workers that serve requests accept code to run. It opens nothing of the
 * edge. None when no key ring is configured.
 */
export async function liveToken(env: EncryptionEnv, environmentId: string): Promise<string | undefined> {
  const signature = await liveTokens.sign(env, environmentId);
  return signature && credentialOf("live-token", signature);
}

/** The key of one endpoint: opens its queue API and nothing else. None when no key ring is configured. */
export async function endpointKey(env: EncryptionEnv, endpointId: string): Promise<string | undefined> {
  const signature = await endpointKeys.sign(env, endpointId);
  return signature && credentialOf("endpoint-key", signature);
}

/** Whether this is a key of this endpoint. */
export async function isEndpointKey(env: EncryptionEnv, endpointId: string, key: string): Promise<boolean> {
  return await endpointKeys.verify(
    env,
    endpointId,
    (signature) => credentialOf("endpoint-key", signature),
    key,
  );
}

/** Prefix and signature come first, so that the id may be of any form. */
const ENVIRONMENT_KEY = /^(ere_[0-9a-f]{64})_([A-Za-z0-9_-]{1,128})$/;

/**
 * The key of one flash environment, with which its workers call each other: opens the queue API and the requests of
 * the environment's endpoints, and what the management API shows of its build. It carries the environment's id, so
 * that one look-up finds it. None when no key ring is configured.
 */
export async function environmentKey(env: EncryptionEnv, environmentId: string): Promise<string | undefined> {
  const signature = await environmentKeys.sign(env, environmentId);
  return signature && `${credentialOf("environment-key", signature)}_${environmentId}`;
}

/** The environment that a key belongs to, whether it exists or not; none for a key that the edge has not made. */
export async function environmentOfKey(env: EncryptionEnv, key: string): Promise<string | undefined> {
  const [, signed, environmentId] = ENVIRONMENT_KEY.exec(key) ?? [];
  if (signed === undefined || environmentId === undefined) return undefined;
  const encode = (signature: Uint8Array) => credentialOf("environment-key", signature);
  return (await environmentKeys.verify(env, environmentId, encode, signed)) ? environmentId : undefined;
}

/** As that of an environment. */
const POD_KEY = /^(erp_[0-9a-f]{64})_([A-Za-z0-9_-]{1,128})$/;

/** The key of one pod, which carries its id. None when no key ring is configured. */
export async function podKey(env: EncryptionEnv, podId: string): Promise<string | undefined> {
  const signature = await podKeys.sign(env, podId);
  return signature && `${credentialOf("pod-key", signature)}_${podId}`;
}

/** The pod that a key belongs to, whether it exists or not; none for a key that the edge has not made. */
export async function podOfKey(env: EncryptionEnv, key: string): Promise<string | undefined> {
  const [, signed, podId] = POD_KEY.exec(key) ?? [];
  if (signed === undefined || podId === undefined) return undefined;
  const encode = (signature: Uint8Array) => credentialOf("pod-key", signature);
  return (await podKeys.verify(env, podId, encode, signed)) ? podId : undefined;
}

const DOWNLOAD_TOKEN = /^([a-z0-9]{1,64})\.(\d{1,15})\.([0-9a-f]{64})$/;

/** Stands in a URL that opens the artifact of a build until `expiresAt`; none when no key ring is configured. */
export async function downloadToken(
  env: EncryptionEnv,
  buildId: string,
  expiresAt: number,
): Promise<string | undefined> {
  const opened = `${buildId}.${expiresAt}`;
  const signature = await downloads.sign(env, opened);
  return signature && `${opened}.${hex(signature)}`;
}

/** The build whose artifact a token opens now; none for a token that has expired or that the edge has not made. */
export async function buildOfDownloadToken(
  env: EncryptionEnv,
  token: string,
  now: number,
): Promise<string | undefined> {
  const [, buildId = "", expiresAt = "", signed = ""] = DOWNLOAD_TOKEN.exec(token) ?? [];
  if (Number(expiresAt) <= now) return undefined;
  return (await downloads.verify(env, `${buildId}.${expiresAt}`, hex, signed)) ? buildId : undefined;
}

/** Compares two strings in a time that reveals nothing but whether their lengths differ. */
export function timingSafeEqual(one: string, other: string): boolean {
  const [left, right] = [encoder.encode(one), encoder.encode(other)];
  return left.byteLength === right.byteLength && crypto.subtle.timingSafeEqual(left, right);
}

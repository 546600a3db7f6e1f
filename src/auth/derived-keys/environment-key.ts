/**
 * The key of one flash environment, which its workers get to call each other: opens the queue API and the requests
 * of the environment's endpoints, and what the management API says of its build. It is derived from the
 * environment's id and the key ring, and carries the id, so that one look-up finds it.
 */
import { credentialOf } from "../credential.ts";
import { Signer, type EncryptionEnv } from "./signer.ts";
import { timingSafeEqual } from "../same-text.ts";

const signer = new Signer("edgerun flash environment key");

/** Prefix and signature come first, so that the id may be of any form. */
const FORM = /^(ere_[0-9a-f]{64})_([A-Za-z0-9_-]{1,128})$/;

/** The environment's key; none when no key ring is configured. */
export async function environmentKey(env: EncryptionEnv, environmentId: string): Promise<string | undefined> {
  const signature = await signer.sign(env, environmentId);
  return signature && `${credentialOf("environment-key", signature)}_${environmentId}`;
}

/** The environment that a key belongs to, whether that exists or not; none for a key that nobody has made. */
export async function environmentOfKey(env: EncryptionEnv, key: string): Promise<string | undefined> {
  const [, signed, environmentId] = FORM.exec(key) ?? [];
  if (signed === undefined || environmentId === undefined) return undefined;
  const signatures = await signer.signAll(env, environmentId);
  const right = signatures.map((signature) => credentialOf("environment-key", signature));
  return right.map((candidate) => timingSafeEqual(candidate, signed)).includes(true)
    ? environmentId
    : undefined;
}

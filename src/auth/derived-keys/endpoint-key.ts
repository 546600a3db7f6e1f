/**
 * The key of one endpoint: opens the queue API of that endpoint and nothing else. It is derived from the
 * endpoint's id and the key ring, so that it can be shown at any time and is stored nowhere.
 */
import { credentialOf } from "../credential.ts";
import { Signer, type EncryptionEnv } from "./signer.ts";
import { timingSafeEqual } from "../same-text.ts";

const signer = new Signer("edgerun endpoint key");

/** The endpoint's key; none when no key ring is configured. */
export async function endpointKey(env: EncryptionEnv, endpointId: string): Promise<string | undefined> {
  const signature = await signer.sign(env, endpointId);
  return signature && credentialOf("endpoint-key", signature);
}

/** Says whether this is a key of this endpoint, in a time that does not depend on how much of it fits. */
export async function isEndpointKey(env: EncryptionEnv, endpointId: string, key: string): Promise<boolean> {
  const signatures = await signer.signAll(env, endpointId);
  const right = signatures.map((signature) => credentialOf("endpoint-key", signature));
  return right.map((candidate) => timingSafeEqual(candidate, key)).includes(true);
}

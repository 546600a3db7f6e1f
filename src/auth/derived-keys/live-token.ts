/**
 * The token of one session: with it workers of the session that serve requests take code to run. It opens nothing
 * of the edge. It is derived from the environment's id and the key ring, so that it is stored nowhere.
 */
import { credentialOf } from "../credential.ts";
import { Signer, type EncryptionEnv } from "./signer.ts";

const signer = new Signer("edgerun live token");

/** The session's token; none when no key ring is configured. */
export async function liveToken(env: EncryptionEnv, environmentId: string): Promise<string | undefined> {
  const signature = await signer.sign(env, environmentId);
  return signature && credentialOf("live-token", signature);
}

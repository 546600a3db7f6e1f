/**
 * Tokens in the addresses of artifacts: such an address opens one build's artifact until it expires. They are
 * signed under the key ring and stored nowhere.
 */
import { Signer, type EncryptionEnv } from "./signer.ts";
import { timingSafeEqual } from "../same-text.ts";

const signer = new Signer("edgerun artifact download");
const FORM = /^([a-z0-9]{1,64})\.(\d{1,15})\.([0-9a-f]{64})$/;

/** Opens the artifact of a build until `expiresAt`; none when no key ring is configured. */
export async function downloadToken(
  env: EncryptionEnv,
  buildId: string,
  expiresAt: number,
): Promise<string | undefined> {
  const opened = `${buildId}.${expiresAt}`;
  const signature = await signer.sign(env, opened);
  return signature && `${opened}.${hex(signature)}`;
}

/** The build whose artifact a token opens now; none for a token that has expired or that nobody has made. */
export async function buildOfDownloadToken(
  env: EncryptionEnv,
  token: string,
  now: number,
): Promise<string | undefined> {
  const [, buildId = "", expiresAt = "", signed = ""] = FORM.exec(token) ?? [];
  if (Number(expiresAt) <= now) return undefined;
  const right = await signer.signAll(env, `${buildId}.${expiresAt}`);
  return right.map((signature) => timingSafeEqual(hex(signature), signed)).includes(true)
    ? buildId
    : undefined;
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

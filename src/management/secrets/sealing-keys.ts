import type { SealingKeys } from "../../auth/envelope.ts";
import { readEncryptionKeys, type EncryptionKey } from "../../auth/encryption-keys.ts";
import type { Env } from "../../env.ts";
import { logFailure } from "../failure-log.ts";
import { ServiceError } from "../../contract/errors.ts";

const HOW_TO_MAKE_ONE = 'echo "k1:$(openssl rand -base64 32)" | npx wrangler secret put ENCRYPTION_KEYS';

/** The keys for what is stored encrypted; throws an error that explains how to make one when there is none. */
export function requireSealingKeys(env: Pick<Env, "ENCRYPTION_KEYS">): SealingKeys {
  const [newest, ...older] = readKeys(env);
  if (newest !== undefined) return [newest, ...older];
  throw new ServiceError(
    "not_configured",
    `This Edgerun has no key to encrypt with: its operator sets ENCRYPTION_KEYS once, for example by ${HOW_TO_MAKE_ONE}`,
  );
}

function readKeys(env: Pick<Env, "ENCRYPTION_KEYS">) {
  try {
    return readEncryptionKeys(env);
  } catch (error) {
    throw new ServiceError("not_configured", error instanceof Error ? error.message : "ENCRYPTION_KEYS");
  }
}

/** The keys that open what is stored; a ring that cannot be read opens nothing, and is logged. */
export function openingKeys(env: Pick<Env, "ENCRYPTION_KEYS">): readonly EncryptionKey[] {
  try {
    return readEncryptionKeys(env);
  } catch (error) {
    logFailure("encryption_keys_unreadable", {}, error);
    return [];
  }
}

import { randomBytes } from "node:crypto";

/** A new key for ENCRYPTION_KEYS, under an id that no other one has. */
export function generateEncryptionKey(): string {
  return `k${randomBytes(4).toString("hex")}:${randomBytes(32).toString("base64")}`;
}

import { randomId } from "../domain/accounts/random-id.ts";

const LENGTH = 14;

/** A random id of 14 lower-case letters and digits. */
export function randomRowId(): string {
  return randomId((count) => crypto.getRandomValues(new Uint8Array(count)));
}

/** The id of what this text describes: the same text gives the same id. */
export async function derivedRowId(seed: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(seed)));
  const number = digest.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return (number % 36n ** BigInt(LENGTH)).toString(36).padStart(LENGTH, "0");
}

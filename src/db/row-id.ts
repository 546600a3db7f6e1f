const SYMBOLS = "abcdefghijklmnopqrstuvwxyz0123456789";
const LENGTH = 14;
/** Bytes from here on would make some symbols likelier than others. */
const BYTE_LIMIT = 256 - (256 % SYMBOLS.length);

/** A random id of 14 lower-case letters and digits. */
export function randomRowId(): string {
  let id = "";
  while (id.length < LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH))) {
      if (byte < BYTE_LIMIT && id.length < LENGTH) id += SYMBOLS.charAt(byte % SYMBOLS.length);
    }
  }
  return id;
}

/** The id of what this text describes: the same text gives the same id. */
export async function derivedRowId(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const number = digest.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return (number % 36n ** BigInt(LENGTH)).toString(36).padStart(LENGTH, "0");
}

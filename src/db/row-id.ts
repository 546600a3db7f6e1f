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

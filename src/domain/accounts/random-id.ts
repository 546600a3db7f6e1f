/** Random ids of rows and workers, as clients know them. */
const SYMBOLS = "abcdefghijklmnopqrstuvwxyz0123456789";
const LENGTH = 14;
/** Bytes from here on would make some symbols likelier than others. */
const BYTE_LIMIT = 256 - (256 % SYMBOLS.length);

/** 14 lower-case letters and digits, each as likely as the others where the bytes are. */
export function randomId(randomBytes: (count: number) => Iterable<number>): string {
  let id = "";
  while (id.length < LENGTH) {
    for (const byte of randomBytes(LENGTH)) {
      if (byte < BYTE_LIMIT && id.length < LENGTH) id += SYMBOLS.charAt(byte % SYMBOLS.length);
    }
  }
  return id;
}

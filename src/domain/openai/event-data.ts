/** JSON as the data of server-sent events. */

/** Line breaks end the data of an event. In JSON text they are space, since strings have them escaped. */
export function onOneLine(json: string): string {
  return json.replace(/[\n\r]/g, " ");
}

/** The same of bytes. */
export function bytesOnOneLine(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte));
}

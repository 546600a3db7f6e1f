/** How the heads of WebSockets cross the border of an object, by `fetch`, which takes no bytes beside its headers. */

/** The request's head on the way in, that of the answer on the way out. */
export const UPGRADE_HEAD = "Edgerun-Head";
/** The worker that answered. */
export const UPGRADE_WORKER = "Edgerun-Worker";

/** A head as the value of a header. */
export function packHead(head: Uint8Array): string {
  return btoa(Array.from(head, (byte) => String.fromCharCode(byte)).join(""));
}

export function unpackHead(value: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
}

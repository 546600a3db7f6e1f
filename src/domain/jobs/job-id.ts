/**
 * Public job ids: `[sync-]<uuid-like>-s<shard>`.
 *
 * The 32 hex digits are the 48-bit storage sequence, masked by a hash of the nonce so that neighbours do not
 * look alike, and 80 random bits (the nonce). So an id finds its row without an index and cannot be guessed:
 * a row answers only to the nonce that it was made with.
 */

export type JobId = {
  readonly seq: number;
  /** 20 hex digits. */
  readonly nonce: string;
  readonly isSync: boolean;
  readonly shard: number;
};

export const NONCE_BYTES = 10;
const HALF = 2 ** 24;
const PATTERN =
  /^(sync-)?([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})-s(0|[1-9]\d{0,3})$/;

/** Writes an id. `seq` must be below 2^48. */
export function encodeJobId(id: JobId): string {
  const hex = maskSeq(id.seq, id.nonce).toString(16).padStart(12, "0") + id.nonce;
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return `${id.isSync ? "sync-" : ""}${groups.join("-")}-s${id.shard}`;
}

/** Reads an id; undefined when the text is not an id. */
export function decodeJobId(value: string): JobId | undefined {
  const match = PATTERN.exec(value);
  if (!match) return undefined;
  const hex = match.slice(2, 7).join("");
  const nonce = hex.slice(12);
  const seq = maskSeq(Number.parseInt(hex.slice(0, 12), 16), nonce);
  return { seq, nonce, isSync: match[1] !== undefined, shard: Number(match[7]) };
}

/** Its own inverse. In two halves, because bit operators see 32 bits only. */
function maskSeq(seq: number, nonce: string): number {
  const high = Math.floor(seq / HALF) ^ (hash(nonce, 1) >>> 8);
  const low = (seq % HALF) ^ (hash(nonce, 2) >>> 8);
  return high * HALF + low;
}

/** 32-bit FNV-1a with a final mix. */
function hash(input: string, seed: number): number {
  let value = 0x811c9dc5 ^ seed;
  for (let index = 0; index < input.length; index += 1) {
    value = Math.imul(value ^ input.charCodeAt(index), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}

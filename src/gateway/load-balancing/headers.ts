/** Which headers a proxy passes on, and how their bytes are written in a head. */

/** In requests: the requested worker. In answers: the worker that answered. */
export const AFFINITY_HEADER = "X-Runpod-Worker-Id";

/** Headers that concern one connection only: RFC 9110, section 7.6.1, and those that older clients still send. */
const HOP_BY_HOP = new Set(["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"]);
const HOP_BY_HOP_PREFIX = "proxy-";

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** Without the headers of one connection, including those that `Connection` names. */
export function endToEndHeaders(headers: HeaderList): [string, string][] {
  const named = new Set(
    headers
      .filter(([name]) => name.toLowerCase() === "connection")
      .flatMap(([, value]) => value.split(",").map((token) => token.trim().toLowerCase())),
  );
  return headers
    .filter(([name]) => {
      const lower = name.toLowerCase();
      return !HOP_BY_HOP.has(lower) && !lower.startsWith(HOP_BY_HOP_PREFIX) && !named.has(lower);
    })
    .map(([name, value]) => [name, value]);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
// oxlint-disable-next-line no-control-regex -- what is not ASCII
const ASCII = /^[\u0000-\u007f]*$/;

/** A value with a character per byte, as in a head; the runtime has decoded it as UTF-8. */
export function toByteString(value: string): string {
  return ASCII.test(value) ? value : String.fromCharCode(...encoder.encode(value));
}

/** The reverse. Bytes that are not valid UTF-8 are read as Latin-1. */
export function fromByteString(value: string): string {
  if (ASCII.test(value)) return value;
  try {
    return decoder.decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  } catch {
    return value;
  }
}

/** Which headers a proxy passes on, and how their bytes are written in a head. */

/** In requests: which worker is asked for. In answers: who gave them. */
export const AFFINITY_HEADER = "X-Runpod-Worker-Id";

/** Of one connection only; RFC 9110, section 7.6.1, and what clients of old still send. */
const HOP_BY_HOP = new Set(["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"]);
const HOP_BY_HOP_PREFIX = "proxy-";

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** Without the headers of one connection, which are those that `Connection` names as well. */
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

/** A value as a head has it, a character for each byte, from the runtime's, which has read UTF-8. */
export function toByteString(value: string): string {
  return ASCII.test(value) ? value : String.fromCharCode(...encoder.encode(value));
}

/** The reverse. A byte that is no UTF-8 is taken for the character of its number, which is how most read it. */
export function fromByteString(value: string): string {
  if (ASCII.test(value)) return value;
  try {
    return decoder.decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  } catch {
    return value;
  }
}

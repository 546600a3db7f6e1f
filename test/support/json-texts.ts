/** Random JSON texts, as no encoder writes them: numbers of all spellings, escapes, space, names that stand twice. */

/** Numbers between 0 and 1 that follow from the seed alone (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SCALARS = [
  ..."0 -0 7.0 1e400 -1E+5 1e-400 0.10 123e-7 18446744073709551615 -9007199254740993 1.0000000000000000000001".split(
    " ",
  ),
  ...["true", "false", "null", '""', '"\\/"', '"\\ud800"', '"\\uD83D\\uDE00"', '"😀\u2028é"', '"\\u0000"'],
];
const PIECES = [
  "a",
  "\\n",
  "\\/",
  "/",
  '\\"',
  "\\\\",
  "é",
  "😀",
  "\\u00e9",
  "\\udc00",
  " ",
  "data: ",
  "\u2029",
];
const NAMES = ['"b"', '"a"', '"10"', '"2"', '"__proto__"', '"in\\u0070ut"', '"é"', '""', '"output"'];
const SPACES = ["", "", "", " ", "\n", "\t ", "\r\n"];

/** A JSON text of about so many bytes, without space around it. */
export function randomJson(random: () => number, sizeBytes: number): string {
  const pick = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value;
  const space = () => pick(SPACES);
  const string = (bytes: number) => {
    const text = Array.from({ length: 8 + Math.floor(random() * 24) }, () => pick(PIECES)).join("");
    return `"${text.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(text))))}"`;
  };
  const scalar = () => (random() < 0.2 ? `${Math.floor(random() * 1e9)}${"0".repeat(30)}` : pick(SCALARS));
  const value = (bytes: number, depth: number): string => {
    if (bytes < 30 || depth > 20) return scalar();
    if (random() < 0.15) return string(bytes);
    if (random() < 0.1) return nested(bytes);
    const parts = random() < 0.3 ? 1 + Math.floor(bytes / 40) : 1 + Math.floor(random() * 6);
    const elements = Array.from({ length: Math.min(parts, 50_000) }, () =>
      value((bytes / parts) * (0.5 + random()), depth + 1),
    );
    if (random() < 0.5) return `[${elements.map((text) => `${space()}${text}${space()}`).join(",")}]`;
    return `{${elements.map((text) => `${space()}${pick(NAMES)}${space()}:${space()}${text}`).join(",")}}`;
  };
  const nested = (bytes: number) => {
    const depth = Math.min(Math.floor(bytes / 2), 1_900);
    return `${"[".repeat(depth)}${scalar()}${"]".repeat(depth)}`;
  };
  return value(sizeBytes, 0);
}

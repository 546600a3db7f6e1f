import { LOG_LINE_MAX_BYTES } from "../../../src/contract/agent/log.ts";

/** What a worker prints, as a runtime passes it on. */

export type OutputLine = {
  /** When it was printed, in microseconds since 1970. */
  readonly at: number;
  /** It was not printed before this; the same time where that is known exactly. */
  readonly notBefore: number;
  readonly stream?: "stdout" | "stderr";
  readonly text: string;
};

export type OutputPart = {
  readonly lines: readonly OutputLine[];
  /** Lines that were not admitted. */
  readonly dropped: number;
  /** The position after the last of them, from which a later reader can continue. */
  readonly position: string;
};

export type OutputReader = {
  /** Null for the beginning. */
  readonly position: string | null;
  /** Whether a line of this many bytes is accepted. A rejected one costs next to nothing. */
  readonly admits: (bytes: number) => boolean;
  readonly onPart: (part: OutputPart) => void;
  readonly signal: AbortSignal;
};

const TRUNCATION_SUFFIX = " … (cut)";
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Text of a line, without its break, and cut when it is too long. */
export function decodeLine(bytes: Buffer, isTruncated: boolean): string {
  const isTooLong = bytes.length > LOG_LINE_MAX_BYTES;
  let end = isTooLong ? LOG_LINE_MAX_BYTES : bytes.length;
  if (!isTooLong && bytes[end - 1] === NEWLINE) end -= 1;
  if (!isTooLong && bytes[end - 1] === RETURN) end -= 1;
  const text = bytes.toString("utf8", 0, end);
  return isTooLong || isTruncated ? `${text}${TRUNCATION_SUFFIX}` : text;
}

export function endsLine(bytes: Buffer): boolean {
  return bytes.at(-1) === NEWLINE;
}

/** Last lines of a text, oldest first; the end of the text needs no line break. */
export function lastLinesOf(text: string, count: number): readonly string[] {
  if (count <= 0) return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines.slice(-count);
}

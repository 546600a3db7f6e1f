/**
 * Output of a container, from Docker's log stream.
 *
 * O1  Docker stamps each line. The last stamp and the number of lines with it are a position to resume from.
 * O2  Docker splits a long line into stamped pieces. The first piece represents the line.
 */
import {
  type OutputLine,
  type OutputPart,
  type OutputReader,
  endsLine,
  decodeLine,
} from "../interface/output.ts";

/** A frame: one byte for the stream, three unused, four for the length, then a stamp, a space and the text. */
const HEADER_BYTES = 8;
const LENGTH_OFFSET = 4;
const STDERR = 2;
/** Such as 2026-11-21T17:44:58.123456789Z. */
const STAMP_BYTES = 30;
const MS_DIGITS = 23;
const MICROS_DIGITS = 26;

type Place = { readonly stamp: string; readonly count: number };

/** Where Docker begins to send, in its own format: seconds with nine decimal places. */
export function sinceOf(position: string | null): string | undefined {
  const place = readPlace(position);
  if (!place) return undefined;
  const seconds = Math.floor(Date.parse(place.stamp) / 1_000);
  return `${seconds}.${place.stamp.slice(20, 29)}`;
}

/** Takes the bytes of a log stream that begins at a position, and hands on lines. */
export class ContainerOutput {
  readonly #reader: OutputReader;
  #rest: Buffer = Buffer.alloc(0);
  #stamp: Buffer;
  #count: number;
  /** Repeated frames with the stamp of the position. */
  #repeatedCount: number;
  /** Streams in the middle of a long line. */
  readonly #unended = new Set<number>();

  constructor(reader: OutputReader) {
    this.#reader = reader;
    const place = readPlace(reader.position);
    this.#stamp = Buffer.from(place?.stamp ?? "");
    this.#count = place?.count ?? 0;
    this.#repeatedCount = this.#count;
  }

  get position(): string | null {
    return this.#stamp.length === 0 ? null : `${this.#stamp.toString("latin1")} ${this.#count}`;
  }

  /** The stream is opened again at the position. */
  reopened(): void {
    this.#rest = Buffer.alloc(0);
    this.#repeatedCount = this.#count;
  }

  take(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const lines: OutputLine[] = [];
    let dropped = 0;
    let offset = 0;
    while (offset + HEADER_BYTES <= bytes.length) {
      const start = offset + HEADER_BYTES;
      const end = start + bytes.readUInt32BE(offset + LENGTH_OFFSET);
      if (end > bytes.length) break;
      const stream = bytes[offset] ?? 0;
      const taken = this.#takeFrame(stream, bytes.subarray(start, end));
      if (taken === "dropped") dropped += 1;
      else if (taken) lines.push(taken);
      offset = end;
    }
    this.#rest = Buffer.from(bytes.subarray(offset)); // a copy, so that the whole can be freed
    this.#emit({ lines, dropped, position: this.position ?? "" });
  }

  #emit(part: OutputPart): void {
    if (part.lines.length + part.dropped > 0) this.#reader.onPart(part);
  }

  #takeFrame(stream: number, frame: Buffer): OutputLine | "dropped" | undefined {
    const stamp = frame.subarray(0, STAMP_BYTES);
    const text = frame.subarray(STAMP_BYTES + 1);
    const isContinued = this.#unended.has(stream);
    const isWhole = endsLine(text);
    if (isWhole) this.#unended.delete(stream);
    else this.#unended.add(stream);
    if (this.#comesAgain(stamp) || isContinued) return undefined; // O1, O2
    if (!this.#reader.admits(text.length)) return "dropped";
    const at = microsOf(stamp.toString("latin1"));
    const isCut = !isWhole && text.length >= PIECE_BYTES;
    const name = stream === STDERR ? "stderr" : "stdout";
    return { at, notBefore: at, stream: name, text: decodeLine(text, isCut) };
  }

  /** Counts a frame that was not passed on before. */
  #comesAgain(stamp: Buffer): boolean {
    const isSame = stamp.equals(this.#stamp);
    if (isSame && this.#repeatedCount > 0) {
      this.#repeatedCount -= 1;
      return true;
    }
    this.#repeatedCount = 0;
    this.#count = isSame ? this.#count + 1 : 1;
    if (!isSame) this.#stamp = Buffer.from(stamp);
    return false;
  }
}

/** Docker breaks lines into pieces of this size. */
const PIECE_BYTES = 16 * 1024;

function readPlace(position: string | null): Place | undefined {
  const [stamp, count] = position?.split(" ") ?? [];
  return stamp?.length === STAMP_BYTES ? { stamp, count: Number(count) } : undefined;
}

function microsOf(stamp: string): number {
  return Date.parse(`${stamp.slice(0, MS_DIGITS)}Z`) * 1_000 + Number(stamp.slice(MS_DIGITS, MICROS_DIGITS));
}

/** Decodes a log without stamps, as Docker sends it: stdout and stderr together in their order. */
export function textOfLog(log: Buffer): string {
  const parts: Buffer[] = [];
  let offset = 0;
  while (offset + HEADER_BYTES <= log.length) {
    const start = offset + HEADER_BYTES;
    offset = start + log.readUInt32BE(offset + LENGTH_OFFSET);
    parts.push(log.subarray(start, offset));
  }
  return Buffer.concat(parts).toString("utf8");
}

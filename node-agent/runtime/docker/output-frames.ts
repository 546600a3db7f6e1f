/** The output of a command without a terminal, as Docker sends it: frames of a header and bytes. */
import type { OutputName } from "../interface/command.ts";

/** One byte for the output, three unused, four for the length. */
const HEADER_BYTES = 8;
const LENGTH_OFFSET = 4;
const STDERR = 2;

export class OutputFrames {
  readonly #onOutput: (name: OutputName, bytes: Uint8Array) => void;
  #header = Buffer.alloc(0);
  #name: OutputName = "stdout";
  /** Bytes missing of the frame. */
  #missing = 0;

  constructor(onOutput: (name: OutputName, bytes: Uint8Array) => void) {
    this.#onOutput = onOutput;
  }

  /** Hands on what the bytes have of each output, in one piece each: a program that prints byte by byte sends as many frames. */
  take(bytes: Buffer): void {
    const pieces: Record<OutputName, Buffer[]> = { stdout: [], stderr: [] };
    for (let at = 0; at < bytes.byteLength;) {
      if (this.#missing === 0) {
        at = this.#takeHeader(bytes, at);
        continue;
      }
      const piece = bytes.subarray(at, at + this.#missing);
      pieces[this.#name].push(piece);
      this.#missing -= piece.byteLength;
      at += piece.byteLength;
    }
    for (const name of ["stdout", "stderr"] as const) {
      if (pieces[name].length > 0) this.#onOutput(name, Buffer.concat(pieces[name]));
    }
  }

  /** Returns where the next byte is. */
  #takeHeader(bytes: Buffer, at: number): number {
    const end = at + HEADER_BYTES - this.#header.byteLength;
    const header = Buffer.concat([this.#header, bytes.subarray(at, end)]);
    const isWhole = header.byteLength === HEADER_BYTES;
    this.#header = isWhole ? Buffer.alloc(0) : header;
    if (isWhole) {
      this.#name = header[0] === STDERR ? "stderr" : "stdout";
      this.#missing = header.readUInt32BE(LENGTH_OFFSET);
    }
    return Math.min(end, bytes.byteLength);
  }
}

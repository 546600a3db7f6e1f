/**
 * Output of a process worker, from the file that it writes. Its place is an offset in the file, with the time of
 * the file's last cut: what was cut is never read again.
 */
import { watch } from "node:fs";
import { open, stat } from "node:fs/promises";
import { type OutputLine, type OutputReader, decodeLine } from "../output.ts";
import type { WorkerDirectory } from "./worker-directory.ts";
import { LOG_LINE_MAX_BYTES } from "../../../src/contract/agent/log.ts";

const READ_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

export class OutputFile {
  readonly #directory: WorkerDirectory;
  readonly #reader: OutputReader;
  #truncatedAt = 0;
  #offset = 0;
  /** Begin of a line whose end was not read yet. */
  #rest: Buffer = Buffer.alloc(0);
  #isInLongLine = false;
  #readAt: number;
  #reading: Promise<void>;

  constructor(directory: WorkerDirectory, reader: OutputReader) {
    this.#directory = directory;
    this.#reader = reader;
    this.#readAt = micros();
    this.#reading = this.#begin();
  }

  /** Reads whenever the file has changed, until the signal. */
  watch(): void {
    const { signal } = this.#reader;
    try {
      const watcher = watch(this.#directory.logPath, { persistent: false, signal }, () => void this.readOn());
      watcher.on("error", () => {}); // whoever looks after the file reads on, too
    } catch {
      // The file is gone.
    }
  }

  /** Hands on all that is in the file by now. */
  readOn(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read()).catch(() => undefined); // gone with its worker
    return this.#reading;
  }

  /** The file was emptied, after `readOn`. */
  truncated(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      this.#offset = 0;
      this.#truncatedAt = await lastTruncatedAt(this.#directory);
    });
    return this.#reading;
  }

  /** The worker has ended: the last line needs no break. */
  async finish(): Promise<void> {
    await this.readOn();
    if (this.#rest.length > 0) this.#emit([this.#rest], micros());
    this.#rest = Buffer.alloc(0);
  }

  async #begin(): Promise<void> {
    this.#truncatedAt = await lastTruncatedAt(this.#directory);
    const [cutAt, offset] = (this.#reader.position ?? "").split(" ").map(Number);
    if (cutAt === this.#truncatedAt) this.#offset = offset ?? 0;
  }

  async #read(): Promise<void> {
    const readAt = micros();
    const { size } = await stat(this.#directory.logPath);
    if (size > this.#offset) await this.#readUntil(size);
    this.#readAt = readAt;
  }

  async #readUntil(size: number): Promise<void> {
    const file = await open(this.#directory.logPath, "r");
    try {
      while (this.#offset < size) {
        const length = Math.min(size - this.#offset, READ_BYTES);
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, this.#offset);
        if (bytesRead === 0 || this.#reader.signal.aborted) return;
        this.#take(buffer.subarray(0, bytesRead), micros());
      }
    } finally {
      await file.close();
    }
  }

  #take(bytes: Buffer, now: number): void {
    this.#offset += bytes.length;
    const text = Buffer.concat([this.#rest, bytes]);
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = text.indexOf(NEWLINE); end >= 0; end = text.indexOf(NEWLINE, start)) {
      if (!this.#isInLongLine) lines.push(text.subarray(start, end + 1));
      this.#isInLongLine = false;
      start = end + 1;
    }
    this.#rest = Buffer.from(text.subarray(start));
    if (this.#rest.length > LOG_LINE_MAX_BYTES) {
      if (!this.#isInLongLine) lines.push(this.#rest);
      this.#isInLongLine = true;
      this.#rest = Buffer.alloc(0);
    }
    this.#emit(lines, now);
  }

  #emit(rawLines: readonly Buffer[], at: number): void {
    if (rawLines.length === 0) return;
    const lines: OutputLine[] = rawLines
      .filter((bytes) => this.#reader.admits(bytes.length))
      .map((bytes) => ({ at, notBefore: this.#readAt, text: decodeLine(bytes, false) }));
    const position = `${this.#truncatedAt} ${Math.max(0, this.#offset - this.#rest.length)}`;
    this.#reader.onPart({ lines, dropped: rawLines.length - lines.length, position });
  }
}

/** 0 for a file that was never cut. */
async function lastTruncatedAt({ previousLogPath }: WorkerDirectory): Promise<number> {
  return (await stat(previousLogPath).catch(() => null))?.mtimeMs ?? 0;
}

function micros(): number {
  return Date.now() * 1_000;
}

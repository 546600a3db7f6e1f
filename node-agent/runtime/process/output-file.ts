/**
 * The output of a process worker.
 *
 * The worker itself has the file open and appends to it, so that its output outlives the agent. A file that grows too
 * long is therefore truncated in place: its end is copied aside, and the file emptied. Lines written between the two
 * are lost.
 *
 * A position in the output is an offset in the file, with the time of its last truncation: what was truncated is
 * never read again.
 */
import { readSync, watch } from "node:fs";
import { type FileHandle, open, stat, truncate, writeFile } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type OutputLine, type OutputReader, decodeLine, lastLinesOf } from "../interface/output.ts";
import type { WorkerDirectory } from "./worker-directory.ts";
import { LOG_LINE_MAX_BYTES } from "../../../src/contract/agent/log.ts";

const LOG_MAX_BYTES = 10_000_000;
const LOG_TAIL_BYTES = 1_000_000;
const READ_TAIL_BYTES = 256_000;
const READ_BYTES = 16 * 1024;
const NEWLINE = 0x0a;

export class OutputFile {
  readonly #directory: WorkerDirectory;
  readonly #reader: OutputReader;
  #truncatedAt = 0;
  #offset = 0;
  /** Start of a line whose end was not read yet. */
  #rest: Buffer = Buffer.alloc(0);
  #isInLongLine = false;
  #readAt: number;
  #reading: Promise<void>;
  #isToRead = false;
  /** Open from the first reading on, since a worker may print with each job. */
  #file: FileHandle | undefined;
  #isClosed = false;
  readonly #buffer = Buffer.alloc(READ_BYTES);

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
      const watcher = watch(this.#directory.logPath, { persistent: false, signal }, () => this.#readSoon());
      watcher.on("error", () => {}); // the regular check of the file reads it as well
    } catch {
      // The file was removed.
    }
  }

  /** Passes on everything that the file has by now. */
  readOn(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read()).catch(() => undefined); // the file was removed with its worker
    return this.#reading;
  }

  /** What was printed within one turn of the event loop is read together. */
  #readSoon(): void {
    if (this.#isToRead) return;
    this.#isToRead = true;
    setImmediate(() => {
      this.#isToRead = false;
      void this.readOn();
    });
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
    await this.close();
  }

  /** Nothing is read after it. */
  close(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      this.#isClosed = true;
      await this.#file?.close();
    });
    return this.#reading;
  }

  async #begin(): Promise<void> {
    this.#truncatedAt = await lastTruncatedAt(this.#directory);
    const [cutAt, offset] = (this.#reader.position ?? "").split(" ").map(Number);
    if (cutAt === this.#truncatedAt) this.#offset = offset ?? 0;
  }

  async #read(): Promise<void> {
    const readAt = micros();
    if (this.#isClosed) return;
    this.#file ??= await open(this.#directory.logPath, "r");
    while (!this.#reader.signal.aborted) {
      // What was printed just now is in memory: a thread to wait for it would cost more than the reading.
      const bytesRead = readSync(this.#file.fd, this.#buffer, 0, READ_BYTES, this.#offset);
      if (bytesRead > 0) this.#take(this.#buffer.subarray(0, bytesRead), micros());
      if (bytesRead < READ_BYTES) break;
      await nextTurn();
    }
    this.#readAt = readAt;
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

/** 0 for a file that was never truncated. */
async function lastTruncatedAt({ previousLogPath }: WorkerDirectory): Promise<number> {
  return (await stat(previousLogPath).catch(() => null))?.mtimeMs ?? 0;
}

function micros(): number {
  return Date.now() * 1_000;
}

/** Truncates the log if it exceeds its limit; resolves to whether it did. */
export async function boundLog(directory: WorkerDirectory, maxBytes = LOG_MAX_BYTES): Promise<boolean> {
  const sizeBytes = (await stat(directory.logPath).catch(() => null))?.size ?? 0;
  if (sizeBytes <= maxBytes) return false;
  await writeFile(directory.previousLogPath, await readTail(directory.logPath, LOG_TAIL_BYTES));
  await truncate(directory.logPath, 0);
  return true;
}

/** The last lines that the worker has written, oldest first. */
export async function lastLinesOfLog(directory: WorkerDirectory, count: number): Promise<readonly string[]> {
  const parts = [
    await readTail(directory.previousLogPath, READ_TAIL_BYTES),
    await readTail(directory.logPath, READ_TAIL_BYTES),
  ];
  return lastLinesOf(Buffer.concat(parts).toString("utf8"), count);
}

async function readTail(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return Buffer.alloc(0);
  try {
    const { size } = await file.stat();
    const length = Math.min(size, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

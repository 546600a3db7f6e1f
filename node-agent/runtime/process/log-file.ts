/**
 * The log of a process worker.
 *
 * The worker holds the file itself and writes to its end, so that it outlives the agent. What grows too long
 * is therefore cut in place: the end is copied aside, and the file emptied. Lines written between the two are lost.
 */
import { open, stat, truncate, writeFile } from "node:fs/promises";
import { lastLinesOf } from "../last-lines.ts";
import type { WorkerDirectory } from "./worker-directory.ts";

const LOG_MAX_BYTES = 10_000_000;
const LOG_TAIL_BYTES = 1_000_000;
const READ_TAIL_BYTES = 256_000;

/** Cuts the log if it has outgrown its limit; says whether it did. */
export async function boundLog(directory: WorkerDirectory, maxBytes = LOG_MAX_BYTES): Promise<boolean> {
  const sizeBytes = (await stat(directory.logPath).catch(() => null))?.size ?? 0;
  if (sizeBytes <= maxBytes) return false;
  await writeFile(directory.previousLogPath, await readTail(directory.logPath, LOG_TAIL_BYTES));
  await truncate(directory.logPath, 0);
  return true;
}

/** Last lines of all that the worker has written, oldest first. */
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

import { randomUUID } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";

const RECORD_FILE = "worker.json";

/** What is kept on disk about a worker's process, so that the next agent on this host finds it. */
const processRecordSchema = z.object({
  workerId: z.string(),
  endpointId: z.string(),
  revision: z.number(),
  /** SHA-256 of the files of its app. */
  artifact: z.string().optional(),
  /** Also the id of the process group. */
  pid: z.number(),
  /** Start of the process as process-table.ts gives it. */
  start: z.string(),
  isFrozen: z.boolean().default(false),
  exit: z.object({ exitCode: z.number().nullable(), reason: z.string() }).nullable(),
});
export type ProcessRecord = z.infer<typeof processRecordSchema>;

/** The record in a worker's directory; null when there is none that can be read. */
export async function readRecord(directory: string): Promise<ProcessRecord | null> {
  try {
    const text = await readFile(join(directory, RECORD_FILE), "utf8");
    return processRecordSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Replaces the record as a whole, so that a reader never sees half of one. */
export async function writeRecord(directory: string, record: ProcessRecord): Promise<void> {
  const draft = join(directory, `${RECORD_FILE}.${randomUUID()}`);
  await writeFile(draft, JSON.stringify(record));
  await rename(draft, join(directory, RECORD_FILE));
}

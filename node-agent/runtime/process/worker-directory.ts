/**
 * Where a worker of the process runtime lives: <stateDirectory>/workers/<workerId>/
 *
 *   worker.json          the record of its process
 *   output.log           what it writes; output.previous.log holds what came before
 *   work/                its working directory
 */
import * as z from "zod";
import { mkdir, readdir, rm, readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { randomUUID } from "node:crypto";

/** What a worker id may hold; nothing in it leads out of the state directory. */
const WORKER_ID = /^[A-Za-z0-9_-]+$/;

export type WorkerDirectory = {
  readonly path: string;
  readonly workPath: string;
  readonly logPath: string;
  readonly previousLogPath: string;
};

export function workerDirectory(stateDirectory: string, workerId: string): WorkerDirectory {
  if (!WORKER_ID.test(workerId)) throw new Error(`"${workerId}" is no worker id.`);
  const path = join(workersPath(stateDirectory), workerId);
  return {
    path,
    workPath: join(path, "work"),
    logPath: join(path, "output.log"),
    previousLogPath: join(path, "output.previous.log"),
  };
}

export async function createWorkerDirectory(directory: WorkerDirectory): Promise<void> {
  await mkdir(directory.workPath, { recursive: true, mode: 0o700 });
}

export async function removeWorkerDirectory(directory: WorkerDirectory): Promise<void> {
  await rm(directory.path, { recursive: true, force: true, maxRetries: 3 });
}

/** Ids of all workers that have a directory. */
export async function workerIdsOnDisk(stateDirectory: string): Promise<readonly string[]> {
  const entries = await readdir(workersPath(stateDirectory), { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .filter((name) => WORKER_ID.test(name));
}

function workersPath(stateDirectory: string): string {
  return join(resolve(stateDirectory), "workers");
}

const RECORD_FILE = "worker.json";

/** The record of a worker's process on disk, from which the next agent on this host finds it. */
const processRecordSchema = z.object({
  workerId: z.string(),
  endpointId: z.string(),
  revision: z.number(),
  /** SHA-256 of the files of its app. */
  artifact: z.string().optional(),
  /** Ids of its models. */
  models: z.array(z.string()).optional(),
  /** Also the id of the process group. */
  pid: z.number(),
  /** Start of the process as process-table.ts gives it. */
  start: z.string(),
  isFrozen: z.boolean().default(false),
  exit: z.object({ exitCode: z.number().nullable(), reason: z.string() }).nullable(),
});
export type ProcessRecord = z.infer<typeof processRecordSchema>;

/** The record in a worker's directory; null without a readable one. */
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

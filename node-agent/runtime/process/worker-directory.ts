/**
 * Where a worker of the process runtime lives: <stateDirectory>/workers/<workerId>/
 *
 *   worker.json          the record of its process
 *   output.log           what it writes; output.previous.log holds what came before
 *   work/                its working directory
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";

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

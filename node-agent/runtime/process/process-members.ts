/**
 * All processes of a worker, to be signalled together.
 *
 * M1  A worker's processes are its group, their descendants, and whatever carries its mark in the environment:
 *     the last finds daemons that left the group and lost their parent (Linux only).
 * M2  A group whose leader's pid now belongs to another process no longer belongs to the worker.
 */
import { setTimeout as delay } from "node:timers/promises";
import { errorCode } from "../../../src/std/errors.ts";
import { retryDelayMs } from "../../../src/std/waiting.ts";
import { beganBefore, type ProcessRow, readProcessTable, withEnvironment } from "./process-table.ts";

/** Variable that marks the processes of a worker; its value is the worker's own directory. */
export const WORKER_DIRECTORY_VARIABLE = "EDGERUN_WORKER_DIR";

const KILL_LIMIT_MS = 10_000;
const KILL_WAIT = { baseMs: 5, capMs: 100 };

export type WorkerProcesses = {
  readonly directory: string;
  /** First process of the worker, if one is known. */
  readonly leader: { readonly pid: number; readonly start: string } | null;
  /** Start of that first process, even after it has ended; empty when unknown. */
  readonly since: string;
};

/** Sends a signal to all that runs for a worker. */
export async function signalAll(worker: WorkerProcesses, signal: NodeJS.Signals): Promise<void> {
  for (const pid of await membersOf(worker)) sendSignal(pid, signal);
}

/** Kills all processes of a worker, and those that they start meanwhile; resolves when none is left. */
export async function killAll(worker: WorkerProcesses): Promise<void> {
  const deadlineAt = performance.now() + KILL_LIMIT_MS;
  for (let rounds = 1; ; rounds += 1) {
    const pids = await membersOf(worker);
    if (pids.length === 0) return;
    if (performance.now() > deadlineAt) {
      throw new Error(`Processes ${pids.join(", ")} of the worker in ${worker.directory} do not end.`);
    }
    for (const pid of pids) sendSignal(pid, "SIGKILL");
    await delay(retryDelayMs(rounds, KILL_WAIT));
  }
}

/** The pids of all that runs for a worker. */
export async function membersOf(worker: WorkerProcesses): Promise<readonly number[]> {
  const rows = (await readProcessTable()).filter((row) => !row.isZombie);
  const younger = rows.filter(({ start }) => !beganBefore(start, worker.since));
  const marked = await withEnvironment(younger, WORKER_DIRECTORY_VARIABLE, worker.directory);
  return selectMembers(rows, worker.leader, marked).filter((pid) => pid !== process.pid);
}

/** The pids that belong to a worker, out of all that run. */
export function selectMembers(
  rows: readonly ProcessRow[],
  leader: WorkerProcesses["leader"],
  marked: readonly ProcessRow[],
): readonly number[] {
  const members = new Set(marked.map(({ pid }) => pid));
  const namesake = rows.find((row) => row.pid === leader?.pid);
  const isGroupOwn = leader !== null && (!namesake || namesake.start === leader.start); // M2
  if (isGroupOwn) {
    for (const row of rows) if (row.groupId === leader.pid) members.add(row.pid);
  }
  // A set is walked in the order of insertion, additions included: children of children are found, too.
  for (const pid of members) {
    for (const row of rows) if (row.parentPid === pid) members.add(row.pid);
  }
  return [...members];
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error; // it has ended
  }
}

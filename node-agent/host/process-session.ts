/**
 * A process and all that it has started: its descendants, and the sessions that it and they lead. What has left them
 * all (a daemon, a terminal multiplexer) is not of it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { errorCode } from "../../src/std/errors.ts";
import { beganBefore, type ProcessRow, readProcess, readProcessTable } from "./process-table.ts";

/** Pid and start identify one process; see process-table.ts. */
export type ProcessIdentity = { readonly pid: number; readonly start: string };

/** Time to end after a hangup, as when a terminal is closed. */
const HANGUP_MS = 300;
const KILL_LIMIT_MS = 10_000;
const KILL_WAIT_MS = 20;

/** Whether a process may be signalled, checked just before that. */
export type ProcessGuard = (pid: number) => Promise<boolean>;

/** The pids of the session of a process that leads one, out of all that run. */
export function selectSession(rows: readonly ProcessRow[], leader: ProcessIdentity): readonly number[] {
  const namesake = rows.find((row) => row.pid === leader.pid);
  if (namesake && namesake.start !== leader.start) return []; // its pid was given out again
  const members = new Set([leader.pid]);
  const younger = rows.filter((row) => !beganBefore(row.start, leader.start));
  // A set is walked in the order of insertion, additions included.
  for (const pid of members) {
    for (const row of younger) if (row.sessionId === pid || row.parentPid === pid) members.add(row.pid);
  }
  const living = new Set(rows.filter((row) => !row.isZombie).map((row) => row.pid));
  return [...members].filter((pid) => living.has(pid) && pid !== process.pid);
}

/** Ends all of it, by SIGHUP and soon after by SIGKILL. False when something does not end. */
export async function killSession(leader: ProcessIdentity, mayEnd: ProcessGuard): Promise<boolean> {
  const membersNow = async () => selectSession(await readProcessTable(), leader);
  await signalAll(await membersNow(), "SIGHUP", mayEnd);
  const hangupAt = Date.now() + HANGUP_MS;
  for (const deadlineAt = hangupAt + KILL_LIMIT_MS; Date.now() < deadlineAt;) {
    await delay(KILL_WAIT_MS);
    const members = await membersNow();
    if (members.length === 0) return true;
    if (Date.now() >= hangupAt) await signalAll(members, "SIGKILL", mayEnd);
  }
  return false;
}

/** Signals the group of a process that leads one; nothing happens when it has ended. */
export async function signalGroup(leader: ProcessIdentity, signal: NodeJS.Signals): Promise<void> {
  if ((await readProcess(leader.pid))?.start === leader.start) send(-leader.pid, signal);
}

async function signalAll(pids: readonly number[], signal: NodeJS.Signals, mayEnd: ProcessGuard) {
  for (const pid of pids) if (await mayEnd(pid)) send(pid, signal);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error; // it has ended
  }
}

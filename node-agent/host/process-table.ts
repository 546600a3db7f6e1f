/**
 * The processes of this machine, from /proc or, without one, from ps.
 *
 * A pid alone is not an identity because it is reused. Pid and start together always identify one process.
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import { bootId } from "./boot-id.ts";

const run = promisify(execFile);

export type ProcessRow = {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Id of its session's first process; 0 where that is not known. */
  readonly sessionId: number;
  /** Ended, but its parent has not read its exit code yet. */
  readonly isZombie: boolean;
  /** Text that no other process of this pid has. */
  readonly start: string;
};

const hasProc = process.platform === "linux";

export async function readProcessTable(): Promise<readonly ProcessRow[]> {
  if (!hasProc) return parsePs((await run("ps", ["-axo", PS_COLUMNS])).stdout);
  const boot = await bootId();
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => readProcRow(Number(pid), boot) ?? []);
}

/** One process; null when no process has this pid. */
export async function readProcess(pid: number): Promise<ProcessRow | null> {
  if (hasProc) return readProcRow(pid, await bootId());
  const { stdout } = await run("ps", ["-p", String(pid), "-o", PS_COLUMNS]).catch(() => ({ stdout: "" }));
  return parsePs(stdout)[0] ?? null;
}

/** The namespace that a process has its pid in; null where that cannot be read. */
export function namespaceOf(pid: number): Promise<string | null> {
  return readlink(`/proc/${pid}/ns/pid`).catch(() => null);
}

/** Those of the processes that were started with this variable in their environment; none where there is no /proc. */
export async function withEnvironment(
  rows: readonly ProcessRow[],
  name: string,
  value: string,
): Promise<readonly ProcessRow[]> {
  if (!hasProc) return [];
  const matches = await Promise.all(
    rows.map(async ({ pid }) => {
      // Asynchronous: reading the memory of a process that hangs in a driver blocks.
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return environment.split("\0").includes(`${name}=${value}`);
    }),
  );
  return rows.filter((_, index) => matches[index]);
}

/** Whether a process with the first start began before one with the second; false when unknown. */
export function beganBefore(start: string, other: string): boolean {
  const [boot, ticks] = start.split(" ");
  const [otherBoot, otherTicks] = other.split(" ");
  return boot === otherBoot && Number(ticks) < Number(otherTicks);
}

// Linux

/** The kernel counts starts from boot, so a start is unique within one boot only. */
function readProcRow(pid: number, boot: string): ProcessRow | null {
  try {
    // At once, for the kernel has it in memory: a way over other threads would take ten times as long.
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"), boot);
  } catch {
    return null;
  }
}

/** Place of the start among the fields after the name; see proc_pid_stat(5). */
const START_FIELD = 19;

/** Reads the fields after the name, which is in parentheses and may itself contain spaces and parentheses. */
export function parseStat(stat: string, boot: string): ProcessRow | null {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parentPid, groupId, sessionId] = fields;
  const startTicks = fields[START_FIELD];
  if (startTicks === undefined) return null;
  return {
    pid: Number.parseInt(stat, 10),
    parentPid: Number(parentPid),
    groupId: Number(groupId),
    sessionId: Number(sessionId),
    isZombie: state === "Z" || state === "X",
    start: `${boot} ${startTicks}`,
  };
}

// Elsewhere

const PS_COLUMNS = "pid=,ppid=,pgid=,stat=,lstart=";

export function parsePs(text: string): readonly ProcessRow[] {
  return text
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length > 4)
    .map(([pid, parentPid, groupId, state = "", ...start]) => ({
      pid: Number(pid),
      parentPid: Number(parentPid),
      groupId: Number(groupId),
      sessionId: 0,
      isZombie: state.startsWith("Z"),
      start: start.join(" "),
    }));
}

/**
 * What runs on this machine, from /proc or, where there is none, from ps.
 *
 * A pid alone says nothing: it is given out again. Pid and start together name one process for ever.
 */
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { bootId } from "./boot-id.ts";

const run = promisify(execFile);

export type ProcessRow = {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Ended, but its parent has not asked for its exit code yet. */
  readonly isZombie: boolean;
  /** Text that no other process of this pid has. */
  readonly start: string;
};

const hasProc = process.platform === "linux";

export async function readProcessTable(): Promise<readonly ProcessRow[]> {
  if (!hasProc) return parsePs((await run("ps", ["-axo", PS_COLUMNS])).stdout);
  const names = await readdir("/proc");
  const rows = await Promise.all(
    names.filter((name) => /^\d+$/.test(name)).map((pid) => readProcRow(Number(pid))),
  );
  return rows.filter((row) => row !== null);
}

/** One process; null when there is none of this pid. */
export async function readProcess(pid: number): Promise<ProcessRow | null> {
  if (hasProc) return readProcRow(pid);
  const { stdout } = await run("ps", ["-p", String(pid), "-o", PS_COLUMNS]).catch(() => ({ stdout: "" }));
  return parsePs(stdout)[0] ?? null;
}

/** Processes that were started with this variable in their environment; none where there is no /proc. */
export async function pidsWithEnvironment(name: string, value: string): Promise<readonly number[]> {
  if (!hasProc) return [];
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const matches = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return environment.split("\0").includes(`${name}=${value}`);
    }),
  );
  return pids.filter((_, index) => matches[index]).map(Number);
}

// Linux

async function readProcRow(pid: number): Promise<ProcessRow | null> {
  try {
    // The kernel counts starts from boot, so a start is unique within one boot only.
    return parseStat(await readFile(`/proc/${pid}/stat`, "utf8"), await bootId());
  } catch {
    return null;
  }
}

/** Place of the start among the fields after the name; see proc_pid_stat(5). */
const START_FIELD = 19;

/** Reads the fields after the name, which stands in parentheses and may itself hold spaces and parentheses. */
export function parseStat(stat: string, boot: string): ProcessRow | null {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parentPid, groupId] = fields;
  const startTicks = fields[START_FIELD];
  if (startTicks === undefined) return null;
  return {
    pid: Number.parseInt(stat, 10),
    parentPid: Number(parentPid),
    groupId: Number(groupId),
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
      isZombie: state.startsWith("Z"),
      start: start.join(" "),
    }));
}

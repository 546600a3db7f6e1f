/** Processor time of processes, which says what a job costs even on a machine that others use too. */
import { readFileSync } from "node:fs";

/** Processes of a contestant by what they do. */
export type Roles = Readonly<Record<string, readonly number[]>>;
export type CpuTimes = Readonly<Record<string, number>>;

/** Linux counts in ticks of this length for every program, whatever the kernel uses inside. */
const TICK_MS = 10;

/** User and system time of each role since its processes started, in ms; 0 where there is no /proc. */
export function cpuTimes(roles: Roles): CpuTimes {
  return Object.fromEntries(
    Object.entries(roles).map(([role, pids]) => [role, pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0)]),
  );
}

/** What each role used between two readings, in µs per job. */
export function cpuPerJob(before: CpuTimes, after: CpuTimes, jobs: number): CpuTimes {
  return Object.fromEntries(
    Object.entries(after).map(([role, ms]) => [role, ((ms - (before[role] ?? 0)) * 1_000) / jobs]),
  );
}

function cpuMsOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in brackets may hold blanks; user and system time are the 12th and 13th field behind it.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return 0;
  }
}

/** The processes below a process. */
export function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    const children = text === "" ? [] : text.split(" ").map(Number);
    return [...children, ...children.flatMap(childrenOf)];
  } catch {
    return [];
  }
}

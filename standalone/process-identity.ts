import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** A process that cannot be mistaken for a later one with the same number. */
export type ProcessIdentity = { readonly pid: number; readonly startedAt: string };

function startMoment(pid: number): string | undefined {
  try {
    if (!existsSync("/proc/self/stat")) {
      return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
    }
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state] = fields;
    return state === "Z" || state === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

/** Identifies a living process; undefined when there is no process with this id. */
export function identify(pid: number): ProcessIdentity | undefined {
  const startedAt = startMoment(pid);
  return startedAt ? { pid, startedAt } : undefined;
}

export function isRunning(identity: ProcessIdentity): boolean {
  return startMoment(identity.pid) === identity.startedAt;
}

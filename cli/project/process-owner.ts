/** Which process something belongs to, distinguished from a later one with the same id. */
import { hostname } from "node:os";
import { identify, isRunning, type ProcessIdentity } from "../../standalone/process-identity.ts";

export type Owner = ProcessIdentity & { readonly host: string };

/** This process. */
export function thisOwner(): Owner {
  return { startedAt: "", ...identify(process.pid), pid: process.pid, host: hostname() };
}

/** Processes of other computers cannot be checked. */
export function processStateOf({ host, pid, startedAt }: Owner): "running" | "ended" | "elsewhere" {
  if (host !== hostname()) return "elsewhere";
  return isRunning({ pid, startedAt }) ? "running" : "ended";
}

/** Whether a process with this id exists, of any user. */
export function processExists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // of another user
  }
}

/** Which process something belongs to, told apart from a later one with the same number. */
import { hostname } from "node:os";
import { identify, isRunning, type ProcessIdentity } from "../../standalone/process-identity.ts";

export type Owner = ProcessIdentity & { readonly host: string };

/** This process. */
export function thisOwner(): Owner {
  return { startedAt: "", ...identify(process.pid), pid: process.pid, host: hostname() };
}

/** Of processes of other computers nothing is known here. */
export function processStateOf({ host, pid, startedAt }: Owner): "running" | "ended" | "elsewhere" {
  if (host !== hostname()) return "elsewhere";
  return isRunning({ pid, startedAt }) ? "running" : "ended";
}

/** Whether there is a process of this number now, whoever's and however new it is. */
export function processExists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // somebody else's
  }
}

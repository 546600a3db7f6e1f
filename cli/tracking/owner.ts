/** Which process something belongs to, told apart from a later one with the same number. */
import { hostname } from "node:os";
import { identify, isRunning, type ProcessIdentity } from "../../standalone/process-identity.ts";

export type Owner = ProcessIdentity & { readonly host: string };

/** This process. */
export function thisOwner(): Owner {
  return { startedAt: "", ...identify(process.pid), pid: process.pid, host: hostname() };
}

/** True where it is certain: of processes of other computers nothing is known here. */
export function hasEnded({ host, pid, startedAt }: Owner): boolean {
  return host === hostname() && !isRunning({ pid, startedAt });
}

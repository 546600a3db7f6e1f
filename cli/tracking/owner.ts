/** Which process something belongs to, told apart from a later one with the same number. */
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { execa } from "execa";

export type Owner = { readonly host: string; readonly pid: number; readonly startedAt: string };

/** This process. */
export async function thisOwner(): Promise<Owner> {
  return { host: hostname(), pid: process.pid, startedAt: (await startOf(process.pid)) ?? "" };
}

/** True where it is certain: of processes of other computers nothing is known here. */
export async function hasEnded({ host, pid, startedAt }: Owner): Promise<boolean> {
  return host === hostname() && (await startOf(pid)) !== startedAt;
}

/** When a process began, in the words of the system; undefined when there is none. */
async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform !== "linux") return await startByTool(pid);
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  // The name of the program stands in parentheses, and may hold anything.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields ?? [];
  return state === "Z" || state === "X" ? undefined : fields?.[19];
}

async function startByTool(pid: number): Promise<string | undefined> {
  const { stdout } = await execa("ps", ["-o", "lstart=", "-p", String(pid)], { reject: false });
  return stdout?.trim() || undefined;
}

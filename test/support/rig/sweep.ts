/** Removes all that a rig has made on this machine. Everything carries its name, so nothing has to be noted. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, rmdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "../until.ts";

const run = promisify(execFile);

const NAMESPACES = "/run/netns";
const CGROUPS = "/sys/fs/cgroup";

/** Where a rig keeps all its files. */
export function rigDirectory(rigName: string): string {
  return join(tmpdir(), rigName);
}

/** Processes, mounts, namespaces, cgroups and files, in this order; what is not there is no fault. */
export async function sweep(rigName: string): Promise<void> {
  await until(() => killProcessesOf(rigName) === 0, `the end of all processes of ${rigName}`, 60_000);
  for (const path of mountsOf(rigName)) await run("umount", ["--lazy", path]).catch(() => {});
  for (const name of namespacesOf(rigName)) await run("ip", ["netns", "delete", name]).catch(() => {});
  removeGroups(join(CGROUPS, rigName));
  for (const controller of entriesOf(CGROUPS)) removeGroups(join(CGROUPS, controller, rigName));
  await rm(rigDirectory(rigName), { recursive: true, force: true });
}

function killProcessesOf(rigName: string): number {
  const pids = processesOf(rigName);
  for (const pid of pids) kill(pid);
  return pids.length;
}

/** Living processes that name the rig in their command, environment, directory or control group. */
export function processesOf(rigName: string): readonly number[] {
  return entriesOf("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && belongsTo(pid, rigName));
}

function belongsTo(pid: number, rigName: string): boolean {
  const state = /^State:\s+(\w)/m.exec(read(pid, "status"))?.[1];
  if (state === undefined || state === "Z") return false;
  const texts = ["cmdline", "environ", "cgroup"].map((file) => read(pid, file));
  return [...texts, directoryOf(pid)].some((text) => text.includes(rigName));
}

/** The innermost first. */
function mountsOf(rigName: string): readonly string[] {
  const mounts = readFileSync("/proc/self/mounts", "utf8").trim().split("\n");
  return mounts
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(`${rigDirectory(rigName)}/`))
    .toReversed();
}

function namespacesOf(rigName: string): readonly string[] {
  return entriesOf(NAMESPACES).filter((name) => name.startsWith(`${rigName}-`));
}

function removeGroups(path: string): void {
  for (const name of entriesOf(path)) removeGroups(join(path, name));
  try {
    rmdirSync(path);
  } catch {
    // A file of the group, or a group that is not there.
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

function directoryOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

function entriesOf(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

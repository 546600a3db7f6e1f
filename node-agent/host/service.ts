/** The systemd unit that keeps the agent running. */
import { existsSync } from "node:fs";
import { runCommand } from "./command.ts";
import { dirname, join } from "node:path";

/** Whether systemd keeps the agent of this host. */
export function hasService(): boolean {
  return existsSync("/run/systemd/system") && existsSync(UNIT_PATH);
}

/** Throws systemd's message when the restart fails. */
export async function restartService(): Promise<void> {
  await systemctl("restart", UNIT);
}

export async function endService(): Promise<void> {
  await systemctl("disable", "--now", UNIT);
}

export async function forgetService(): Promise<void> {
  await systemctl("daemon-reload");
  await runCommand("systemctl", ["reset-failed", UNIT]); // it complains when there is nothing to reset
}

async function systemctl(...args: readonly string[]): Promise<void> {
  const end = await runCommand("systemctl", ["--quiet", ...args]);
  if (end.kind === "absent") throw new Error("systemctl is not there.");
  if (end.code !== 0) throw new Error(`systemctl ${args.join(" ")}: ${end.output}`);
}

export const COMMAND_PATH = "/usr/local/bin/edgerun-agent";
export const SETTINGS_DIRECTORY = "/etc/edgerun";
export const UNIT = "edgerun-agent.service";
export const UNIT_PATH = `/etc/systemd/system/${UNIT}`;
export const INSTALL_DIRECTORY = "/opt/edgerun";

/** Files of the agent that runs this code, which may have been installed elsewhere. */
export function agentFiles(agentPath: string) {
  return {
    current: agentPath,
    next: join(dirname(agentPath), "edgerun-agent.next.mjs"),
    previous: join(dirname(agentPath), "edgerun-agent.previous.mjs"),
  };
}

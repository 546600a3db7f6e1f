/** `edgerun ssh-config`: what makes `ssh <pod>.edgerun` work, and all that stands on it. */
import type { Cli } from "../core/cli.ts";
import { containerIdOf, HOST_SUFFIX } from "./container.ts";

/** Prints a block for `~/.ssh/config`, for all pods or for one. Throws a Failure for what cannot be an id. */
export function showSshConfig(cli: Cli, id?: string): void {
  const host = `${id === undefined ? "*" : containerIdOf(id)}${HOST_SUFFIX}`;
  const lines = [
    `Host ${host}`,
    "  User root",
    "  ProxyCommand edgerun tunnel %h 22",
    "  # The tunnel leads to this container alone; each new container of a pod has new host keys.",
    "  StrictHostKeyChecking no",
    "  UserKnownHostsFile /dev/null",
    "  LogLevel ERROR",
    "  ServerAliveInterval 60",
  ];
  cli.terminal.writeResult(lines.join("\n"));
}

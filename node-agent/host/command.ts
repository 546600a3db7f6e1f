/** Commands of the host that care for it: systemctl, iptables, nvidia-ctk. */
import { execFile } from "node:child_process";
import { errorCode } from "../../src/std/errors.ts";

const LIMIT_MS = 60_000;

/** How a command ended. `absent`: there is no such command. */
export type CommandEnd =
  | { readonly kind: "ended"; readonly code: number; readonly stdout: string; readonly output: string }
  | { readonly kind: "absent" };

/** Runs a command to its end, or to the limit; never throws. */
export function runCommand(
  command: string,
  args: readonly string[],
  limitMs = LIMIT_MS,
): Promise<CommandEnd> {
  return new Promise((resolve) => {
    execFile(command, [...args], { timeout: limitMs }, (error, stdout, stderr) => {
      if (errorCode(error) === "ENOENT") return resolve({ kind: "absent" });
      const code = error ? (typeof error.code === "number" ? error.code : 1) : 0;
      resolve({ kind: "ended", code, stdout, output: `${stdout}${stderr}`.trim() });
    });
  });
}

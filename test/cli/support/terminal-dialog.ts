import { join } from "node:path";
import { execa } from "execa";
import type { CommandFixture } from "./flash-command.ts";

/** What is typed, which signal comes, or what becomes of the window, once a text is on the screen. */
export type DialogEntry = { readonly see: string } & (
  | { readonly type: string }
  | { readonly signal: NodeJS.Signals }
  | { readonly resize: readonly [rows: number, columns: number] }
  | { readonly hangUp: true }
);

/** Runs a command in a terminal of its own; the screen comes without colours and movements. */
export async function talk(
  fixture: Pick<CommandFixture, "project" | "environment">,
  command: string,
  dialog: readonly DialogEntry[],
): Promise<{ readonly screen: string; readonly exitCode: number }> {
  const input = JSON.stringify({
    command,
    cwd: fixture.project,
    env: { TERM: "xterm-256color", ...fixture.environment },
    dialog,
  });
  const { stdout } = await execa("python3", [join(import.meta.dirname, "terminal-dialog.py")], { input });
  return JSON.parse(stdout) as { screen: string; exitCode: number };
}

export const CONTROL_C = "\u0003";
export const ENTER = "\r";
export const SPACE = " ";

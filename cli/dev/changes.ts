import type { Terminal } from "../core/terminal.ts";
import type { AppChange } from "./app/live-app.ts";

/** What a change of files has changed; nothing for a change that no endpoint notices. */
export function showChange(terminal: Terminal, change: AppChange): void {
  const { added, removed, changed, reconfigured, problems, warnings } = change;
  const isNamed = new Set([...added, ...reconfigured]);
  const parts = [
    changeSummary(
      "changed",
      changed.filter((name) => !isNamed.has(name)),
    ),
    changeSummary("configured anew", reconfigured),
    changeSummary("added", added),
    changeSummary("removed", removed),
  ].filter((part) => part !== "");
  if (parts.length > 0) terminal.done(`Reloaded: ${parts.join("; ")}`);
  for (const warning of warnings) terminal.warn(warning);
  for (const problem of problems) terminal.fail(problem);
  if (problems.length > 0) terminal.say("  All other functions go on as they were.");
  // What was broken is as it was before, so nothing else has changed.
  else if (parts.length + warnings.length === 0) terminal.done("Reloaded: everything can be read again");
}

function changeSummary(what: string, names: readonly string[]): string {
  return names.length === 0 ? "" : `${what} ${names.join(", ")}`;
}

/** Rules of the packet filter that agents have made: all of them stand in chains called EDGERUN-… */
import { runCommand } from "./command.ts";

const TABLES = ["filter", "nat", "mangle", "raw"];
const TOOLS = ["iptables", "ip6tables"];
const WAIT = ["-w", "5"];

/** What removes our chains from a table, given what `-S` prints of it; each entry is the arguments of one call. */
export function removals(rules: string): readonly (readonly string[])[] {
  const lines = rules.split("\n");
  const ours = lines.flatMap((line) => /^-N (EDGERUN-\S+)$/.exec(line)?.[1] ?? []);
  const jumps = lines
    .filter((line) => line.startsWith("-A ") && / -[jg] EDGERUN-/.test(line))
    .map((line) => splitRule(line.replace(/^-A/, "-D")));
  return [...jumps, ...ours.map((chain) => ["-F", chain]), ...ours.map((chain) => ["-X", chain])];
}

/** A rule as it is printed; only comments are ever quoted. */
function splitRule(rule: string): readonly string[] {
  return [...rule.matchAll(/"((?:[^"\\]|\\.)*)"|\S+/g)].map(([word, quoted]) =>
    quoted === undefined ? word : quoted.replaceAll(/\\(.)/g, "$1"),
  );
}

/** Removes them; returns what could not be done, in words. */
export async function removeFirewallRules(): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const tool of TOOLS) {
    for (const table of TABLES) {
      const listed = await runCommand(tool, [...WAIT, "-t", table, "-S"]);
      if (listed.kind === "absent" || listed.code !== 0) continue; // no such table: nothing of ours in it
      for (const args of removals(listed.stdout)) {
        const end = await runCommand(tool, [...WAIT, "-t", table, ...args]);
        if (end.kind === "ended" && end.code !== 0) faults.push(`${tool} ${args.join(" ")}: ${end.output}`);
      }
    }
  }
  return faults;
}

/** Plants faults one by one, each in a process of its own, and counts the histories until one shows it. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Mutant } from "../../scripts/mutants/mutant.ts";

const AT_ONCE = 2;
const FOUND = /after (\d+) histories/;

type Range = { readonly from: number; readonly count: number };
type Verdict = { readonly mutant: Mutant; readonly histories: number | null; readonly violation: string };

/** Prints a table with a row for each, in Markdown; returns whether all were found but the rare ones. */
export async function hunt(
  mutants: readonly Mutant[],
  rare: ReadonlySet<string>,
  range: Range,
): Promise<boolean> {
  const waiting = [...mutants];
  const verdicts: Verdict[] = [];
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
      const verdict = await huntOne(mutant, range);
      verdicts.push(verdict);
      console.log(rowOf(verdict));
    }
  };
  console.log("| Mistake | Histories | What the last one showed |\n| --- | ---: | --- |");
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const found = verdicts.filter(({ histories }) => histories !== null).length;
  console.log(
    `\n${found} of ${verdicts.length} planted faults were found within ${range.count} histories each.`,
  );
  return verdicts.every(({ mutant, histories }) => histories !== null || rare.has(mutant.id));
}

function rowOf({ mutant: { id }, histories, violation }: Verdict): string {
  const shown = histories === null ? "" : `\`${violation.replaceAll("|", "\\|").replaceAll("`", "'")}\``;
  return `| ${id} | ${histories ?? "none"} | ${shown} |`;
}

async function huntOne(mutant: Mutant, { from, count }: Range): Promise<Verdict> {
  const program = join(import.meta.dirname, "main.ts");
  const flags = ["--mutant", mutant.id, "--from", String(from), "--seeds", String(count)];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [program, ...flags], { maxBuffer: 1e8 }, (_, out, errors) =>
      resolve(out || errors),
    );
  });
  const found = FOUND.exec(output);
  const violation = output.split("\n").find((line) => line.startsWith("  ")) ?? output.split("\n")[0] ?? "";
  return { mutant, histories: found ? Number(found[1]) : null, violation: violation.trim().slice(0, 120) };
}

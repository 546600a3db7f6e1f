/** `npm run simulate`: runs histories, and shows those in which something was wrong. `--help` has the options. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Command, InvalidArgumentError, Option } from "commander";
import { placeOf, readSources } from "../../scripts/mutants/places.ts";
import { PLANTED, RARE } from "./planted.ts";
import { installModules, type PlantedFault } from "./runtime/modules.ts";

type Options = {
  readonly seeds: number;
  readonly from: number;
  readonly minutes?: number;
  readonly trace: boolean;
  readonly chart: boolean;
  readonly coverage: boolean;
  readonly shrink: boolean;
  readonly before?: string;
  readonly mutant?: string;
  readonly mutants: boolean;
};

const ROOT = join(import.meta.dirname, "../..");

const values = new Command("npm run simulate --")
  .description(
    "Runs histories with faults from seeds. Exit code 1: one of them went wrong, or showed no planted mistake.",
  )
  .option("--seeds <count>", "how many histories", wholeNumber, 100)
  .option("--from <seed>", "the first of them", wholeNumber, 1)
  .option("--minutes <minutes>", "no history begins later", positive)
  .option("--trace", "prints all that happens in them", false)
  .option("--chart", "the same as a sequence chart for Mermaid", false)
  .option("--coverage", "prints which changes of jobs were seen beside which faults", false)
  .option("--shrink", "looks for the smallest history of each seed that goes wrong", false)
  .option(
    "--before <directory>",
    "each history begins with the version of that checkout, and is upgraded",
    checkout,
  )
  .addOption(
    new Option(
      "--mutant <id>",
      "plants a mistake of planted.ts, and ends with the first history that shows it",
    ).choices(PLANTED.map(({ id }) => id)),
  )
  .option("--mutants", "does so with each of them, and says how many histories that took", false)
  .addHelpText("after", "\ntest/simulation/README.md says what is simulated, and what has to hold.")
  .parse()
  .opts<Options>();

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number, 1 or more.");
}

function positive(text: string): number {
  if (Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("It must be a number above 0.");
}

function checkout(path: string): string {
  if (existsSync(join(path, "node-agent/agent.ts"))) return resolve(path);
  throw new InvalidArgumentError("It must be the directory of a checkout, with its dependencies installed.");
}

function plantedFault(id: string): PlantedFault {
  const mutant = PLANTED.find((one) => one.id === id);
  if (!mutant) throw new Error(`planted.ts has no mistake ${id}.`);
  const { path, start, end } = placeOf(readSources(ROOT), mutant);
  return { url: pathToFileURL(join(ROOT, path)).href, start, end, replacement: mutant.replacement };
}

function traceOf({ trace, chart }: Options) {
  if (chart) return "chart";
  return trace ? "lines" : "none";
}

const range = { from: values.from, count: values.seeds };
if (values.mutants) {
  const { hunt } = await import("./hunt.ts");
  await end((await hunt(PLANTED, RARE, range)) ? 0 : 1);
}
installModules(values.mutant === undefined ? undefined : plantedFault(values.mutant));
const { simulate } = await import("./simulate.ts");
const isRight = await simulate({
  ...range,
  minutes: values.minutes ?? null,
  trace: traceOf(values),
  isCovered: values.coverage,
  isShrunk: values.shrink,
  before: values.before,
  endsWithFirst: values.mutant !== undefined,
});
if (values.mutant === undefined) await end(isRight ? 0 : 1);
// What the code under test logs is silenced.
if (isRight) process.stdout.write(`No history showed the mistake ${values.mutant}.\n`);
await end(isRight ? 1 : 0);

/** Standard output may be a socket that takes no more for now: what waits there is written first. */
async function end(exitCode: number): Promise<never> {
  await new Promise((resolve) => process.stdout.write("", resolve));
  process.exit(exitCode);
}

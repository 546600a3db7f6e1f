/** `npm run simulate`: runs histories, and shows those in which something was wrong. USAGE has the options. */
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { placeOf, readSources } from "../../scripts/mutants/places.ts";
import { PLANTED } from "./planted.ts";
import { installModules, type PlantedFault } from "./runtime/modules.ts";

const USAGE = `npm run simulate -- [options]

  --seeds N      how many histories; 100 unless it is given
  --from SEED    the first of them; 1
  --minutes M    no history begins later
  --trace        prints all that happens in them; --chart: as a sequence chart for Mermaid
  --coverage     prints which changes of jobs were seen beside which faults
  --shrink       looks for the smallest history of each seed that goes wrong
  --before DIR   each history begins with the version of that checkout, and is upgraded on its way
  --mutant ID    plants a mistake of planted.ts, and ends with the first history that shows it
  --mutants      does so with each of them, and says how many histories that took

test/simulation/README.md says what is simulated, and what has to hold.`;

const ROOT = join(import.meta.dirname, "../..");

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    minutes: { type: "string" },
    trace: { type: "boolean", default: false },
    chart: { type: "boolean", default: false },
    coverage: { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
    before: { type: "string" },
    mutant: { type: "string" },
    mutants: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

function plantedFault(id: string): PlantedFault {
  const mutant = PLANTED.find((one) => one.id === id);
  if (!mutant) throw new Error(`planted.ts has no mistake ${id}.`);
  const { path, start, end } = placeOf(readSources(ROOT), mutant);
  return { url: pathToFileURL(join(ROOT, path)).href, start, end, replacement: mutant.replacement };
}

function traceOf({ trace, chart }: { readonly trace: boolean; readonly chart: boolean }) {
  if (chart) return "chart";
  return trace ? "lines" : "none";
}

if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

const range = { from: Number(values.from), count: Number(values.seeds) };
if (values.mutants) {
  const { hunt } = await import("./hunt.ts");
  await end((await hunt(PLANTED, range)) ? 0 : 1);
}
installModules(values.mutant === undefined ? undefined : plantedFault(values.mutant));
const { simulate } = await import("./simulate.ts");
const isRight = await simulate({
  ...range,
  minutes: values.minutes === undefined ? null : Number(values.minutes),
  trace: traceOf(values),
  isCovered: values.coverage,
  isShrunk: values.shrink,
  before: values.before === undefined ? undefined : resolve(values.before),
  endsWithFirst: values.mutant !== undefined,
});
await end(isRight ? 0 : 1);

/** Standard output may be a socket that takes no more for now: what waits there is written first. */
async function end(exitCode: number): Promise<never> {
  await new Promise((resolve) => process.stdout.write("", resolve));
  process.exit(exitCode);
}

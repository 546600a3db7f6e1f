import { Command } from "commander";
import { JOB_BODY, jobBody } from "./contestants/handler.ts";
import { CONTESTANT_NAMES, type ContestantName } from "./contestants/contestant.ts";

export type Options = {
  readonly isQuick: boolean;
  readonly hasCpu: boolean;
  readonly rounds: number;
  readonly loadMs: number;
  /** What runsync submits. */
  readonly jobBody: string;
  readonly scenarios: readonly string[];
  readonly contestants: readonly ContestantName[];
  /** Where the report goes; null for the terminal only. */
  readonly reportPath: string | null;
};

type Flags = {
  readonly quick: boolean;
  readonly cpu: boolean;
  readonly rounds?: string;
  readonly seconds?: string;
  readonly only?: string;
  readonly contestants: string;
  readonly report?: string;
  readonly inputBytes?: string;
};

/** Reads the options of `npm run bench`, whose quick form measures less; ends the process with a usage message when they make no sense. */
export function parseOptions(scenarioNames: readonly string[], quickNames: readonly string[]): Options {
  const command = new Command("npm run bench --")
    .description("Measures Edgerun beside BullMQ on Redis, on this machine, in turns.")
    .option("--quick", "about two minutes: fewer rounds, shorter loads, no deep queue, no costs", false)
    .option("--only <names>", `of ${scenarioNames.join(", ")}, with commas between`)
    .option("--contestants <names>", `of ${CONTESTANT_NAMES.join(", ")}`, CONTESTANT_NAMES.join(","))
    .option("--rounds <count>", "rounds of each measurement; the median is reported")
    .option("--seconds <seconds>", "length of one load")
    .option("--cpu", "also the processor time of each process, per job", false)
    .option("--input-bytes <count>", "size of the inputs of runsync")
    .option("--report <path>", "file for the report; a whole run writes bench/RESULTS.md")
    .parse();
  const flags = command.opts<Flags>();
  const choose = (text: string, allowed: readonly string[]): readonly string[] => {
    const names = text.split(",");
    const unknown = names.find((name) => !allowed.includes(name));
    if (unknown !== undefined) command.error(`There is no ${unknown}. There are: ${allowed.join(", ")}.`);
    return allowed.filter((name) => names.includes(name));
  };
  const isWhole =
    !flags.quick && flags.only === undefined && flags.contestants === CONTESTANT_NAMES.join(",");
  return {
    isQuick: flags.quick,
    hasCpu: flags.cpu,
    rounds: Number(flags.rounds ?? (flags.quick ? 2 : 5)),
    loadMs: Number(flags.seconds ?? (flags.quick ? 1 : 2)) * 1_000,
    jobBody: flags.inputBytes === undefined ? JOB_BODY : jobBody(Number(flags.inputBytes)),
    scenarios: choose(flags.only ?? (flags.quick ? quickNames : scenarioNames).join(","), scenarioNames),
    contestants: choose(flags.contestants, CONTESTANT_NAMES) as readonly ContestantName[],
    reportPath: flags.report ?? (isWhole && flags.inputBytes === undefined ? "bench/RESULTS.md" : null),
  };
}

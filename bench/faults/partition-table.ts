/** A table of what rounds with a failing network showed. */
import type { PartitionFigures } from "./partition-figures.ts";
import { seconds } from "./seconds.ts";

type Column = readonly [title: string, cell: (rounds: readonly PartitionFigures[]) => string];

const COLUMNS: readonly Column[] = [
  ["Jobs", (rounds) => each(rounds, ({ jobs }) => jobs)],
  ["Given out again", (rounds) => each(rounds, ({ retried }) => retried)],
  ["On both hosts at once", (rounds) => each(rounds, ({ twice }) => twice)],
  ["Host given up after", (rounds) => times(rounds, ({ lostMs }) => lostMs)],
  ["Its job begins elsewhere after", (rounds) => times(rounds, ({ movedMs }) => movedMs)],
  ["Throughput meanwhile", (rounds) => each(rounds, ({ share }) => `${Math.round(share * 100)} %`)],
  ["Afterwards: host present", (rounds) => times(rounds, ({ presentMs }) => presentMs)],
  ["it begins a job", (rounds) => times(rounds, ({ workingMs }) => workingMs)],
  ["has its share of jobs", (rounds) => times(rounds, ({ backMs }) => backMs)],
  ["worker without assignment", (rounds) => times(rounds, ({ unknownMs }) => unknownMs)],
  ["Calls of the agent failed with", (rounds) => distinct(rounds.flatMap(({ reasons }) => reasons))],
];

const TITLES = ["Fault", ...COLUMNS.map(([title]) => title)];

export const PARTITION_HEADER = `| ${TITLES.join(" | ")} |\n|${" --- |".repeat(TITLES.length)}`;

export function partitionRow(name: string, rounds: readonly PartitionFigures[]): string {
  return `| ${[name, ...COLUMNS.map(([, cell]) => cell(rounds))].join(" | ")} |`;
}

function each(
  rounds: readonly PartitionFigures[],
  value: (round: PartitionFigures) => string | number,
): string {
  return rounds.map((round) => String(value(round))).join(", ");
}

/** What did not happen in any round is a dash. */
function times(
  rounds: readonly PartitionFigures[],
  value: (round: PartitionFigures) => number | null,
): string {
  const known = rounds.map(value).filter((ms) => ms !== null);
  return known.length === 0 ? "–" : seconds(known);
}

function distinct(values: readonly string[]): string {
  return [...new Set(values)].join(", ");
}

/** Figures of a sheet as Markdown tables, one per scenario; readable on a terminal too. */
import type { ContestantName } from "../contestants/contestant.ts";
import type { Sheet, Unit } from "./sheet.ts";

export function tables(sheet: Sheet, contestants: readonly ContestantName[]): string {
  const scenarios = [...new Set(sheet.lines.map(({ scenario }) => scenario))];
  return scenarios
    .map((scenario) => `### ${scenario}\n\n${tableOf(sheet, scenario, contestants)}`)
    .join("\n\n");
}

function tableOf(sheet: Sheet, scenario: string, all: readonly ContestantName[]): string {
  const lines = sheet.lines.filter((line) => line.scenario === scenario);
  const contestants = all.filter((name) => lines.some((line) => sheet.value(line, name) !== undefined));
  const isComparing = contestants.includes("edgerun") && contestants.includes("bullmq-always");
  const head = ["", "figure", ...contestants, ...(isComparing ? ["edgerun ÷ bullmq-always"] : [])];
  const rows = lines.map((line) => {
    const values = contestants.map((name) => sheet.value(line, name));
    const ratio = ratioOf(sheet.value(line, "edgerun"), sheet.value(line, "bullmq-always"));
    const cells = values.map((value) => (value === undefined ? "–" : show(value)));
    return [line.variant, `${line.figure} ${unitOf(line.unit)}`, ...cells, ...(isComparing ? [ratio] : [])];
  });
  return markdown([head, ...rows]);
}

function ratioOf(a: number | undefined, b: number | undefined): string {
  return a === undefined || b === undefined || b === 0 ? "–" : (a / b).toFixed(2);
}

function unitOf(unit: Unit): string {
  return unit === "/s" ? "per s" : unit === "requests" ? "" : `in ${unit}`;
}

/** Three digits that matter; whole numbers above that. */
export function show(value: number): string {
  if (value === 0) return "0";
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

/** The first row is the head; the first two columns are words. */
export function markdown(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lineOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell, index) => pad(cell, widths[index] ?? 0, index)).join(" | ")} |`;
  const rule = `| ${widths.map((width, index) => (index < 2 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [lineOf(head), rule, ...body.map(lineOf)].join("\n");
}

function pad(cell: string, width: number, column: number): string {
  return column < 2 ? cell.padEnd(width) : cell.padStart(width);
}

/** All measurements of time, of several ways to one server, in turns. */
import type { HttpDriverCommands } from "./driver-process.ts";
import type { Child } from "../process/child.ts";
import { latencyOf, median } from "../load/percentiles.ts";
import type { Target } from "./target.ts";

export type Way = { readonly name: string; readonly target: Target };

export type ComparisonSettings = {
  readonly rounds: number;
  /** Length of one load of small requests. */
  readonly loadMs: number;
  readonly transferBytes: number;
  readonly events: number;
  readonly eventGapMs: number;
};

type Driver = Child<HttpDriverCommands>;
/** One measurement of one way in one round: values of each figure. */
type Measurement = (driver: Driver, target: Target, settings: ComparisonSettings) => Promise<Values>;
type Values = Readonly<Record<string, readonly number[]>>;
/** A figure of several values a round: the percentiles of all of them. Others: the median of the rounds. */
type Figures = Map<string, Map<string, number[]>>;

const CLIENTS = 64;
const MANY_CLIENTS = 200;
const POST_BYTES = 1_024;

async function small(driver: Driver, target: Target, maxMs: number, clients: number, bodyBytes: number) {
  const result = await driver.ask("small", { target, clients, maxMs, bodyBytes });
  if (result.firstFailure !== null) throw new Error(`${result.failures} failures: ${result.firstFailure}`);
  return result;
}

const MEASUREMENTS: readonly Measurement[] = [
  async (driver, target, { loadMs }) => {
    const { latenciesMs } = await small(driver, target, loadMs, 1, 0);
    return { "GET, 1 client, ms": latenciesMs };
  },
  async (driver, target, { loadMs }) => {
    const { latenciesMs, perSecond } = await small(driver, target, loadMs, CLIENTS, 0);
    return { "GET, 64 clients, requests/s": [perSecond], "GET, 64 clients, ms": latenciesMs };
  },
  async (driver, target, { loadMs }) => {
    const { latenciesMs, perSecond } = await small(driver, target, loadMs, CLIENTS, POST_BYTES);
    return {
      "POST of 1 KB, 64 clients, requests/s": [perSecond],
      "POST of 1 KB, 64 clients, ms": latenciesMs,
    };
  },
  async (driver, target, { loadMs }) => {
    const { latenciesMs, perSecond } = await small(driver, target, loadMs, MANY_CLIENTS, 0);
    return { "GET, 200 clients, requests/s": [perSecond], "GET, 200 clients, ms": latenciesMs };
  },
  async (driver, target, { transferBytes: bytes }) => ({
    "30 MB down, MB/s": [await driver.ask("transfer", { target, direction: "download", bytes, clients: 1 })],
  }),
  async (driver, target, { transferBytes: bytes }) => ({
    "30 MB up, MB/s": [await driver.ask("transfer", { target, direction: "upload", bytes, clients: 1 })],
  }),
  async (driver, target, { events: count, eventGapMs: gapMs }) => ({
    "delay of an event, ms": await driver.ask("eventDelays", { target, count, gapMs }),
  }),
  async (driver, target, { loadMs: maxMs }) => {
    const { latenciesMs } = await driver.ask("besideDownloads", { target, maxMs, bodyBytes: 0 });
    return { "GET beside four downloads, ms": latenciesMs };
  },
];

/** A Markdown table with a column for each way. The first round warms up. */
export async function compare(
  driver: Driver,
  ways: readonly Way[],
  settings: ComparisonSettings,
): Promise<string> {
  const figures: Figures = new Map();
  for (let round = -1; round < settings.rounds; round += 1) {
    for (const [at, measure] of MEASUREMENTS.entries()) {
      const first = (Math.max(round, 0) + at) % ways.length;
      for (const { name, target } of [...ways.slice(first), ...ways.slice(0, first)]) {
        const values = await measure(driver, target, settings);
        if (round >= 0) note(figures, name, values);
      }
    }
  }
  return table(
    figures,
    ways.map(({ name }) => name),
  );
}

function note(figures: Figures, way: string, values: Values): void {
  for (const [figure, more] of Object.entries(values)) {
    const ofFigure = figures.get(figure) ?? new Map<string, number[]>();
    figures.set(figure, ofFigure);
    ofFigure.set(way, [...(ofFigure.get(way) ?? []), ...more]);
  }
}

function table(figures: Figures, ways: readonly string[]): string {
  const lines = [`| | ${ways.join(" | ")} |`, `| --- |${" ---: |".repeat(ways.length)}`];
  for (const [figure, ofFigure] of figures) {
    const cells = ways.map((way) => cell(figure, ofFigure.get(way) ?? []));
    lines.push(`| ${figure.endsWith(", ms") ? `${figure} (p50 · p99)` : figure} | ${cells.join(" | ")} |`);
  }
  return lines.join("\n");
}

function cell(figure: string, values: readonly number[]): string {
  if (!figure.endsWith(", ms")) return median(values).toFixed(0);
  const { p50, p99 } = latencyOf(values);
  return `${p50.toFixed(2)} · ${p99.toFixed(2)}`;
}

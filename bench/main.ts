/** `npm run bench`: see `npm run bench -- --help`. */
import { readFile, writeFile } from "node:fs/promises";
import type { Contestant, ContestantName } from "./contestants/contestant.ts";
import { startBullmq } from "./contestants/bullmq.ts";
import { startEdgerun } from "./contestants/edgerun.ts";
import { startEdgerunWhole } from "./contestants/edgerun-whole.ts";
import { redisVersion } from "./contestants/redis.ts";
import type { DriverCommands } from "./load/driver-process.ts";
import { type Options, parseOptions } from "./options.ts";
import { Child } from "./process/child.ts";
import { machineLoad, report, type Run } from "./report/results.ts";
import { Sheet } from "./report/sheet.ts";
import { tables } from "./report/table.ts";
import { targetTable } from "./report/targets.ts";
import type { Scenario } from "./scenarios/bench.ts";
import { batch } from "./scenarios/batch.ts";
import { cost } from "./scenarios/cost.ts";
import { depth } from "./scenarios/depth.ts";
import { queueing } from "./scenarios/queueing.ts";
import { rows } from "./scenarios/rows.ts";
import { runsync } from "./scenarios/runsync.ts";
import { dispatch, firstChunk } from "./scenarios/waiting.ts";

const QUICK_SCENARIOS: readonly Scenario[] = [runsync, queueing, batch, dispatch, firstChunk, depth];
const SCENARIOS: readonly Scenario[] = [...QUICK_SCENARIOS, rows, cost];

/** A machine with more to do than this has other work. */
const QUIET_LOAD = 0.7;

const STARTS: Record<ContestantName, () => Promise<Contestant>> = {
  edgerun: startEdgerun,
  "edgerun-whole": startEdgerunWhole,
  "bullmq-always": () => startBullmq("always"),
  "bullmq-memory": () => startBullmq("memory"),
};

async function measure(options: Options, sheet: Sheet): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const contestants: Contestant[] = [];
  for (const name of options.contestants) {
    console.log(`Starting ${name} ...`);
    contestants.push(stack.use(await STARTS[name]()));
  }
  const driver = stack.use(
    await Child.start<DriverCommands>(new URL("load/driver-process.ts", import.meta.url), null),
  );
  for (const scenario of SCENARIOS.filter(({ name }) => options.scenarios.includes(name))) {
    console.log(`Measuring ${scenario.name} ...`);
    await scenario.run({ ...options, contestants, driver, sheet });
  }
}

/** What `bench/lb` has measured stands in the same file. */
async function sectionOfOthers(path: string): Promise<string> {
  const before = await readFile(path, "utf8").catch(() => "");
  const at = before.indexOf("\n## Load-balanced endpoints\n");
  return at < 0 ? "" : `\n${before.slice(at)}`;
}

const options = parseOptions(
  SCENARIOS.map(({ name }) => name),
  QUICK_SCENARIOS.map(({ name }) => name),
);
const isWithRedis = options.contestants.some((name) => name.startsWith("bullmq"));
const run: Run = {
  startedAt: new Date(),
  loadAtStart: machineLoad(),
  redis: isWithRedis ? await redisVersion() : null,
};
const sheet = new Sheet();
if (run.loadAtStart > QUIET_LOAD) {
  sheet.remark(
    `The machine was busy before the run (load ${run.loadAtStart.toFixed(1)}): times are PROVISIONAL.`,
  );
}
await measure(options, sheet);
const text = report(options, run, sheet);
if (options.reportPath === null) console.log(`\n${text}`);
else {
  await writeFile(options.reportPath, text + (await sectionOfOthers(options.reportPath)));
  console.log(`\n${targetTable(sheet)}\n\n${tables(sheet, options.contestants)}`);
  console.log(`\nThe report is in ${options.reportPath}.`);
}

/** The report of a run: where and how it was measured, the targets, all figures, and what they mean. */
import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { join, resolve } from "node:path";
import type { Options } from "../options.ts";
import { CAVEATS } from "./caveats.ts";
import type { Sheet } from "./sheet.ts";
import { tables } from "./table.ts";
import { targetTable } from "./targets.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PACKAGES = [
  "workerd",
  "miniflare",
  "wrangler",
  "hono",
  "@hono/node-server",
  "bullmq",
  "ioredis",
  "undici",
];
const GIGABYTE = 2 ** 30;

export type Run = {
  readonly startedAt: Date;
  readonly loadAtStart: number;
  /** Null when it takes no part. */
  readonly redis: string | null;
};

/** Processes that want to run, averaged over a minute: a quiet machine has about none. */
export function machineLoad(): number {
  return loadavg()[0] ?? 0;
}

export function report(options: Options, run: Run, sheet: Sheet): string {
  const remarks = sheet.remarks.map((remark) => `- ${remark}`);
  return [
    "# Benchmark results",
    "Written by `npm run bench`; do not edit. How to read it stands at the end.",
    circumstances(options, run).join("\n"),
    "## Targets",
    targetTable(sheet),
    ...(remarks.length > 0 ? ["## Remarks of this run", remarks.join("\n")] : []),
    "## Figures",
    `Medians of ${options.rounds} rounds. Latencies in ms are those that the client saw.`,
    tables(sheet, options.contestants),
    CAVEATS,
  ].join("\n\n");
}

function circumstances(options: Options, { startedAt, loadAtStart, redis }: Run): readonly string[] {
  const [cpu] = cpus();
  const minutes = Math.round((Date.now() - startedAt.getTime()) / 60_000);
  const versions = PACKAGES.map((name) => `${name} ${versionOf(name)}`);
  return [
    `- ${startedAt.toISOString().slice(0, 16).replace("T", " ")} UTC, ${minutes} minutes`,
    `- ${cpus().length} cores, ${cpu?.model.trim() ?? "unknown"}; ` +
      `${Math.round(totalmem() / GIGABYTE)} GB; ${process.platform} ${release()}`,
    `- load of the machine before the run: ${loadAtStart.toFixed(2)}, and ${machineLoad().toFixed(2)} at its end`,
    `- ${options.rounds} rounds, ${options.loadMs / 1_000} s a load${options.isQuick ? ", quick" : ""}`,
    `- node ${process.versions.node}, ${redis === null ? "" : `redis ${redis}, `}${versions.join(", ")}`,
  ];
}

function versionOf(name: string): string {
  const text = readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

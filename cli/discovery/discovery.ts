/** Runs discovery: the Python package reports what an app declares. */
import { formatIssues } from "../../src/contract/validation-issues.ts";
import { parseJson } from "../../src/std/json.ts";
import { delimiter } from "node:path";
import type { z } from "zod";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import { runDiscovery } from "./discovery-process.ts";
import {
  type DiscoveryReport,
  discoveryReportSchema,
  failureOf,
  formatDiagnostic,
} from "./discovery-report.ts";
import { findInterpreter, type Interpreter, sdkDirectory } from "./interpreter.ts";

/** Limit for importing one file. */
export const IMPORT_LIMIT_SECONDS = 30;

export type DiscoveryOptions = {
  /** Interpreter, by name or path. */
  readonly python?: string | undefined;
  /** All `*.py` files of the project, sorted; relative, with forward slashes. */
  readonly files: readonly string[];
};

/**
 * Finds the app's endpoints and shows warnings. Throws a Failure with `file:line: message` for each error.
 */
export async function discover(cli: Cli, options: DiscoveryOptions): Promise<DiscoveryReport> {
  const setting = await discoverySetting(cli, options.python);
  const request = { root: cli.directory, files: options.files, timeoutSeconds: IMPORT_LIMIT_SECONDS };
  const json = await runDiscovery({ ...setting, request, signal: cli.signal });
  const report = parseReport(discoveryReportSchema, setting.interpreter, json);
  for (const warning of report.warnings) cli.terminal.warn(formatDiagnostic(warning));
  if (report.errors.length > 0) throw failureOf(report.errors);
  return report;
}

export type DiscoverySetting = {
  /** Path of the user's Python. */
  readonly interpreter: string;
  /** The project. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
};

/** Which Python reads the app, and how it finds the package; shows a message when it is the bundled one. */
export async function discoverySetting(cli: Cli, python?: string): Promise<DiscoverySetting> {
  const interpreter = await findInterpreter(cli, python);
  if (!interpreter.hasSdk) announceBundledSdk(cli, interpreter);
  const environment = environmentFor(cli, interpreter);
  return { interpreter: interpreter.path, directory: cli.directory, environment };
}

const notified = new WeakSet<Cli>();

function announceBundledSdk(cli: Cli, interpreter: Interpreter): void {
  if (notified.has(cli)) return;
  notified.add(cli);
  cli.terminal.say(
    `${interpreter.path} does not have the package edgerun; using the one bundled with this command.`,
  );
}

function environmentFor(cli: Cli, interpreter: Interpreter): Record<string, string> {
  const paths = [interpreter.hasSdk ? "" : sdkDirectory(), cli.environment["PYTHONPATH"] ?? ""].filter(
    Boolean,
  );
  const { PYTHONPATH: _, ...environment } = cli.environment;
  const given = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return { ...Object.fromEntries(given), ...(paths.length > 0 ? { PYTHONPATH: paths.join(delimiter) } : {}) };
}

/** Throws a Failure when the report is of an incompatible version of the package. */
export function parseReport<Schema extends z.ZodType>(
  schema: Schema,
  interpreter: string,
  json: string,
): z.output<Schema> {
  const report = schema.safeParse(parseJson(json));
  if (report.success) return report.data;
  throw new Failure(`The package edgerun of ${interpreter} is not compatible with this command.`, [
    `Its report is invalid: ${formatIssues(report.error, "report")}.`,
    "Upgrade both to the version of your edge: `pip install --upgrade -r requirements.txt` in that Python.",
  ]);
}

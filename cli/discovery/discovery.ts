/** What an app declares, by the Python package that knows how to read it. */
import { delimiter } from "node:path";
import type { z } from "zod";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../core/failure.ts";
import { runDiscovery } from "./discovery-process.ts";
import {
  type DiscoveryReport,
  discoveryReportSchema,
  failureOf,
  formatDiagnostic,
} from "./discovery-report.ts";
import { findInterpreter, type Interpreter, sdkDirectory } from "./interpreter.ts";

/** For the import of one file. */
export const IMPORT_LIMIT_SECONDS = 30;

export type DiscoveryOptions = {
  /** Interpreter, by name or path. */
  readonly python?: string | undefined;
  /** All `*.py` files that may be looked at, sorted; relative, with forward slashes. */
  readonly files: readonly string[];
};

/**
 * Finds the app's endpoints and shows warnings. Throws a Failure with `file:line: message` for each thing that must
 * be put right.
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
  /** Path of the person's Python. */
  readonly interpreter: string;
  /** The project. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
};

/** Which Python reads the app, and how it finds the package; says so when that is the command's own. */
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
    `${interpreter.path} has no package edgerun, so the one that comes with this command is used.`,
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

/** Throws a Failure when the package that has written the report is not of this command's version. */
export function parseReport<Schema extends z.ZodType>(
  schema: Schema,
  interpreter: string,
  json: string,
): z.output<Schema> {
  const report = schema.safeParse(parsed(json));
  if (report.success) return report.data;
  const issue = report.error.issues[0];
  throw new Failure(`The package edgerun of ${interpreter} does not fit this command.`, [
    ...(issue ? [`Its report says at ${issue.path.join(".") || "its top"}: ${issue.message}.`] : []),
    "Bring both to the version of your edge: `pip install --upgrade -r requirements.txt` in that Python.",
  ]);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

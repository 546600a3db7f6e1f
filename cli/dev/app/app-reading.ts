/** One reading of an app, and the differences between two. */
import type { LivePeer } from "../../../src/contract/flash/flash-live.ts";
import type { FlashManifest, ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";
import {
  type DiscoveredEndpoint,
  type Diagnostic,
  type LiveReport,
  formatDiagnostic,
} from "../../discovery/discovery-report.ts";
import type { LiveEndpoint, AppChange } from "./live-app.ts";
import type { AppPackages } from "./live-packages.ts";
import { isDeepStrictEqual } from "node:util";

export type AppReading = {
  /** Sorted by name. */
  readonly endpoints: readonly LiveEndpoint[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
};

export const NOTHING_READ: AppReading = { endpoints: [], problems: [], warnings: [] };

export type Findings = {
  readonly report: LiveReport;
  readonly resources: FlashManifest["resources"];
  readonly packages: AppPackages;
  /** All Python files of the project. */
  readonly files: readonly string[];
  /** Files that are not UTF-8 and cannot be sent. */
  readonly unsendable: readonly string[];
};

/** Converts a report; an endpoint whose file cannot be read now stays as it was, with the reason as its `problem`. */
export function toReading(findings: Findings, before: AppReading): AppReading {
  const issues = issuesOf(findings);
  const found = findings.report.endpoints.map((endpoint) => endpointOf(endpoint, findings, issues));
  const names = new Set(found.map(({ name }) => name));
  const retained = before.endpoints
    .filter(({ name }) => !names.has(name))
    .flatMap(retainedOf(findings, issues));
  const endpoints = [...found, ...retained].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const packageProblems = [...findings.packages.byEndpoint.values()].flatMap(({ problems }) => problems);
  return {
    endpoints,
    problems: [...new Set([...issues.map(formatDiagnostic), ...packageProblems])],
    warnings: [
      ...findings.report.warnings
        .filter((diagnostic) => !isParseError(diagnostic, findings))
        .map(formatDiagnostic),
      ...findings.packages.warnings,
    ],
  };
}

/** The reading when discovery failed as a whole: all endpoints stay, with the reason as their `problem`. */
export function failedReading(before: AppReading, problem: string): AppReading {
  const endpoints = before.endpoints.map((endpoint) => ({ ...endpoint, problem }));
  return { endpoints, problems: [problem], warnings: before.warnings };
}

/** Errors of the app. Files that cannot be parsed count only where an endpoint needs them. */
function issuesOf({ report, unsendable }: Findings): readonly Diagnostic[] {
  const needed = new Set([
    ...Object.keys(report.hashes),
    ...report.endpoints.flatMap((one) => one.localFiles),
  ]);
  const noted = new Set(report.errors.map(({ file }) => file));
  const unparsed = report.faults
    .filter(({ file }) => file !== null && needed.has(file) && !noted.has(file))
    .map((diagnostic) => ({ ...diagnostic, message: `Python cannot read this file: ${diagnostic.message}` }));
  const unsent = unsendable.map((file) => ({
    file,
    line: 1,
    message: "the file is not UTF-8 and cannot be sent to a live worker. Save it as UTF-8.",
  }));
  const errors = report.errors.map((diagnostic) =>
    diagnostic.file === null ? firstLineOf(diagnostic) : diagnostic,
  );
  return [...errors, ...unparsed, ...unsent];
}

/** Without the examples for beginners that follow in an error of the whole app. */
function firstLineOf(diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, message: diagnostic.message.split("\n")[0] ?? "" };
}

function isParseError({ file }: Diagnostic, { report }: Findings): boolean {
  return (
    report.faults.some((parseError) => parseError.file === file) && file !== null && file in report.hashes
  );
}

function endpointOf(
  endpoint: DiscoveredEndpoint,
  { report, resources, packages }: Findings,
  issues: readonly Diagnostic[],
): LiveEndpoint {
  const resource = resources[endpoint.name];
  if (resource === undefined) throw new Error(`the manifest lacks ${endpoint.name}`);
  const own = packages.byEndpoint.get(endpoint.name) ?? { dependencies: [], problems: [] };
  const files = new Set([endpoint.filePath, ...(endpoint.isClient ? [] : endpoint.localFiles)]);
  const problems = [
    ...issues.filter(({ file }) => file !== null && files.has(file)).map(formatDiagnostic),
    ...own.problems,
  ];
  return {
    name: endpoint.name,
    resource: endpoint.isClient ? resource : { ...resource, is_live_resource: true },
    code: codeOf(endpoint, report.hashes, own.dependencies),
    peers: endpoint.calls ?? [],
    filePath: endpoint.filePath,
    line: endpoint.line,
    ...(problems.length > 0 ? { problem: problems.join("\n") } : {}),
  };
}

function codeOf(
  endpoint: DiscoveredEndpoint,
  hashes: Readonly<Record<string, string>>,
  dependencies: readonly string[],
): LivePeer {
  const [first] = endpoint.functions;
  const files = endpoint.isClient ? [] : endpoint.localFiles;
  const shared = {
    module: first?.module ?? endpoint.modulePath,
    max_concurrency: endpoint.resource.max_concurrency ?? 1,
    modules: Object.fromEntries(files.map((file) => [file, hashes[file] ?? ""])),
    dependencies: [...dependencies],
    system_dependencies: endpoint.systemDependencies,
    accelerate_downloads: endpoint.accelerateDownloads ?? true,
  };
  if (endpoint.isLoadBalanced) return { execution_type: "route", ...shared };
  const name = first?.name;
  if (first?.isClass) return { execution_type: "class", class_name: name, ...shared };
  return { execution_type: "function", function_name: name, ...shared };
}

/** Keeps an endpoint that the report lacks with its problems; drops it where its declaration was removed. */
function retainedOf(
  { report, files }: Findings,
  issues: readonly Diagnostic[],
): (endpoint: LiveEndpoint) => readonly LiveEndpoint[] {
  const unread = new Set(report.unread);
  return (endpoint) => {
    if (!files.includes(endpoint.filePath)) return [];
    const group = report.groups.find((members) => members.includes(endpoint.filePath)) ?? [];
    const needed = new Set([endpoint.filePath, ...Object.keys(endpoint.code.modules), ...group]);
    const problems = issues.filter(({ file }) => file !== null && needed.has(file)).map(formatDiagnostic);
    if (unread.has(endpoint.filePath)) {
      problems.push(
        report.failure ?? `${endpoint.filePath} is still being imported: its code at module level is slow.`,
      );
    }
    return problems.length > 0 ? [{ ...endpoint, problem: problems.join("\n") }] : [];
  };
}

/** The differences between two readings; undefined when there are none. */
export function changeBetween(before: AppReading, after: AppReading): AppChange | undefined {
  const old = new Map(before.endpoints.map((endpoint) => [endpoint.name, endpoint]));
  const names = new Set(after.endpoints.map(({ name }) => name));
  const retained = after.endpoints.flatMap((endpoint) => {
    const earlier = old.get(endpoint.name);
    return earlier === undefined ? [] : [{ earlier, endpoint }];
  });
  const change = {
    added: after.endpoints.map(({ name }) => name).filter((name) => !old.has(name)),
    removed: before.endpoints.map(({ name }) => name).filter((name) => !names.has(name)),
    changed: retained
      .filter((pair) => canRun(pair) && hasOtherCode(pair))
      .map(({ endpoint }) => endpoint.name),
    reconfigured: retained.filter(hasOtherSettings).map(({ endpoint }) => endpoint.name),
    problems: after.problems,
    warnings: after.warnings.filter((warning) => !before.warnings.includes(warning)),
  };
  const lists = [change.added, change.removed, change.changed, change.reconfigured, change.warnings];
  const isNothing = lists.every((list) => list.length === 0);
  return isNothing && isDeepStrictEqual(before.problems, after.problems) ? undefined : change;
}

type Pair = { readonly earlier: LiveEndpoint; readonly endpoint: LiveEndpoint };

function canRun({ endpoint }: Pair): boolean {
  return endpoint.problem === undefined;
}

function hasOtherCode({ earlier, endpoint }: Pair): boolean {
  return !isDeepStrictEqual(
    [earlier.code, earlier.resource.functions, earlier.peers],
    [endpoint.code, endpoint.resource.functions, endpoint.peers],
  );
}

function hasOtherSettings({ earlier, endpoint }: Pair): boolean {
  return !isDeepStrictEqual(settingsOf(earlier.resource), settingsOf(endpoint.resource));
}

/** The settings that the service stores; the other members concern the code. */
function settingsOf(resource: ManifestResource): object {
  const {
    functions: _functions,
    file_path: _filePath,
    module_path: _modulePath,
    config_variable: _configVariable,
    handler_file: _handlerFile,
    makes_remote_calls: _makesRemoteCalls,
    ...settings
  } = resource;
  return settings;
}

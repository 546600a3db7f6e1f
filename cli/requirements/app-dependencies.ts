/** The packages of an app: what it requires, what is excluded, and what is installed. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cli } from "../core/cli.ts";
import type { DiscoveryReport } from "../discovery/discovery-report.ts";
import { sdkDirectory } from "../discovery/interpreter.ts";
import { Failure } from "../../src/std/failure.ts";
import { counted, secondsSince } from "../core/format.ts";
import { inStep } from "../core/terminal.ts";
import { type Exclusions, isPackageName, normalizedName, SDK_PACKAGE } from "./exclusions.ts";
import { findInstaller, install, type Installer, type ExecutionContext } from "./installer.ts";
import { tidyInstallation } from "./installed-files.ts";
import {
  type PythonSetting,
  type Reading,
  parseRequirements,
  type Requirement,
  type Survey,
  surveyInstallation,
} from "./python-requirements.ts";
import {
  readRequirementFiles,
  type DeclaredRequirement,
  type RequirementFiles,
} from "./requirement-files.ts";

export type DependencyTask = {
  readonly report: DiscoveryReport;
  /** Python version of the workers, such as 3.12. */
  readonly target: string;
  readonly exclusions: Exclusions;
  readonly withDependenciesOfDependencies: boolean;
  /** `.flash/.build` */
  readonly buildDirectory: string;
  /** Directory for the packages. */
  readonly into: string;
};

export type Dependencies = {
  /** Requirements that were installed, as written. */
  readonly packages: readonly string[];
  /** `name==version` of all that is installed, sorted. */
  readonly resolved: readonly string[];
  /** Excluded names that something needs, sorted. */
  readonly excluded: readonly string[];
  readonly warnings: readonly string[];
};

type ApplicableRequirement = Requirement & { readonly declared: DeclaredRequirement };

/** Installs what an app requires. Throws a Failure that names the requirement and its place. */
export async function installDependencies(cli: Cli, task: DependencyTask): Promise<Dependencies> {
  const declared = await readRequirementFiles(cli.directory, task.report.endpoints, cli.environment);
  if (declared.requirements.length === 0) return { packages: [], resolved: [], excluded: [], warnings: [] };
  const startedAt = performance.now();
  const lines = { title: "Installing dependencies", failed: "Installing dependencies failed" };
  return await inStep(cli.terminal, lines, async (step) => {
    const done = await installDeclared(cli, task, declared, (line) => step.update(line));
    const count = done.resolved.length;
    step.done(
      count === 0
        ? "No dependencies to install"
        : `Installed ${counted(count, "package")} (${secondsSince(startedAt)} s)`,
    );
    return done;
  });
}

async function installDeclared(
  cli: Cli,
  task: DependencyTask,
  declared: RequirementFiles,
  onLine: (line: string) => void,
): Promise<Dependencies> {
  const { exclusions, into } = task;
  const { requirements, setting } = await selectApplicable(cli, task, declared.requirements);
  const roots = requirements.filter(({ key }) => key !== SDK_PACKAGE);
  const included = roots.filter(({ key }) => !exclusions.keys.includes(key));
  if (included.length === 0) {
    const excluded = [...new Set(roots.map(({ key }) => key))].sort();
    return { packages: [], resolved: [], excluded, warnings: [] };
  }
  const installer = await installerFor(cli, task);
  await run(cli, task, installer, declared, included, onLine);
  const survey = await surveyInstallation(setting, into, roots, [...exclusions.keys, SDK_PACKAGE]);
  if (!survey) throw libraryMissing(setting);
  await tidyInstallation(into, survey);
  return {
    packages: [...new Set(included.map(({ declared }) => declared.specifier))],
    resolved: resolvedOf(survey),
    excluded: survey.excluded.filter((key) => key !== SDK_PACKAGE),
    warnings: [...installer.warnings, ...missingWarnings(task, survey)],
  };
}

type ApplicableRequirements = {
  readonly requirements: readonly ApplicableRequirement[];
  readonly setting: PythonSetting;
};

/** Requirements that apply to a worker. Throws a Failure that names those that cannot be parsed or met. */
async function selectApplicable(
  cli: Cli,
  task: DependencyTask,
  declarations: readonly DeclaredRequirement[],
): Promise<ApplicableRequirements> {
  const { reading, setting } = await read(cli, task, declarations);
  const applicable: ApplicableRequirement[] = [];
  const issues: string[] = [];
  const describe = (at: number): string => `${declarations[at]?.place}: ${declarations[at]?.specifier}`;
  for (const [at, requirement] of reading.requirements.entries()) {
    const declared = declarations[at];
    if ("error" in requirement) issues.push(`${describe(at)}: ${requirement.error}`);
    else if (declared && requirement.applies) applicable.push({ ...requirement, declared });
  }
  if (issues.length > 0) {
    throw new Failure("Some requirements cannot be read.", [
      ...issues,
      "Write them like name[extra]>=1.2,<2",
    ]);
  }
  const [conflict] = reading.conflicts;
  if (conflict) {
    throw new Failure("Two requirements contradict each other.", [
      describe(conflict[0]),
      describe(conflict[1]),
    ]);
  }
  return { requirements: applicable, setting };
}

/** Parses with the library `packaging` of the interpreter; without one, with that of pip, or one that uv installs. */
async function read(
  cli: Cli,
  task: DependencyTask,
  declarations: readonly DeclaredRequirement[],
): Promise<{ readonly reading: Reading; readonly setting: PythonSetting }> {
  const { executable } = task.report.python;
  const { environment, signal } = cli;
  const own = { executable, sdk: sdkDirectory(), environment, signal, target: task.target };
  const specifiers = declarations.map(({ specifier }) => specifier);
  const first = (await parseRequirements(own, specifiers)) ?? bareNames(specifiers);
  if (first) return { reading: first, setting: own };
  const setting = await withLibrary(cli, task, own);
  const reading = await parseRequirements(setting, specifiers);
  if (!reading) throw libraryMissing(setting);
  return { reading, setting };
}

/** Bare names need no library. */
function bareNames(specifiers: readonly string[]): Reading | undefined {
  const requirements = specifiers.map((specifier) => ({
    text: specifier,
    name: specifier,
    key: normalizedName(specifier),
    extras: [],
    applies: true,
  }));
  return requirements.every(({ name }) => isPackageName(name)) ? { requirements, conflicts: [] } : undefined;
}

async function withLibrary(cli: Cli, task: DependencyTask, setting: PythonSetting): Promise<PythonSetting> {
  const installer = await installerFor(cli, task);
  if (installer.tool === "pip") return { ...setting, executable: installer.python.executable };
  const into = join(task.buildDirectory, "packaging");
  const requirementsFile = join(task.buildDirectory, "packaging.txt");
  const overridesFile = join(task.buildDirectory, "no-overrides.txt");
  await writeFile(requirementsFile, "packaging\n");
  await writeFile(overridesFile, "");
  await install(executionContext(cli, task), installer, {
    target: setting.target,
    requirementsFile,
    overridesFile,
    constraints: [],
    options: [],
    withDependenciesOfDependencies: true,
    into,
    onLine: () => {},
  });
  return { ...setting, library: into };
}

function libraryMissing({ executable }: PythonSetting): Failure {
  return new Failure(`${executable} has no pip and cannot parse requirements.`, [
    "Install pip for it: python3-pip on Debian.",
  ]);
}

async function installerFor(cli: Cli, task: DependencyTask): Promise<Installer> {
  return await findInstaller(executionContext(cli, task), task.report.python, task.target);
}

async function run(
  cli: Cli,
  task: DependencyTask,
  installer: Installer,
  declared: RequirementFiles,
  included: readonly ApplicableRequirement[],
  onLine: (line: string) => void,
): Promise<void> {
  const requirementsFile = join(task.buildDirectory, "requirements.txt");
  const overridesFile = join(task.buildDirectory, "overrides.txt");
  await writeFile(requirementsFile, requirementsFileContent(included));
  // A requirement that never applies excludes a package and its dependencies.
  const never = [...task.exclusions.keys, SDK_PACKAGE].map((key) => `${key} ; python_version < "0"\n`);
  await writeFile(overridesFile, never.join(""));
  await install(executionContext(cli, task), installer, {
    target: task.target,
    requirementsFile,
    overridesFile,
    constraints: declared.constraints,
    options: declared.options,
    withDependenciesOfDependencies: task.withDependenciesOfDependencies,
    into: task.into,
    onLine,
  });
}

/** Runs in the build directory, so that modules of the project do not shadow those that pip imports. */
function executionContext(cli: Cli, task: DependencyTask): ExecutionContext {
  return { directory: task.buildDirectory, environment: cli.environment, signal: cli.signal };
}

/** Content of requirements.txt, without duplicates. */
function requirementsFileContent(included: readonly ApplicableRequirement[]): string {
  const hashes = new Map<string, readonly string[]>();
  for (const { text, declared } of included)
    hashes.set(text, [...(hashes.get(text) ?? []), ...declared.hashes]);
  const lines = [...hashes].map(([text, values]) => [
    text,
    ...new Set(values.map((hash) => `--hash=${hash}`)),
  ]);
  return lines.map((fields) => `${fields.join(" ")}\n`).join("");
}

function missingWarnings(
  { target, withDependenciesOfDependencies }: DependencyTask,
  { missing }: Survey,
): string[] {
  if (!withDependenciesOfDependencies || missing.length === 0) return [];
  const names = missing.join(", ");
  return [
    `NOT INSTALLED, THOUGH PACKAGES NEED THEM ON PYTHON ${target}: ${names}. List them in requirements.txt.`,
  ];
}

function resolvedOf({ distributions }: Survey): string[] {
  return distributions
    .filter(({ isSuperfluous }) => !isSuperfluous)
    .map(({ key, version }) => `${key}==${version}`)
    .sort();
}

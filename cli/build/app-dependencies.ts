/** The packages of an app: what is asked for, what is left out, and what is installed. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cli } from "../cli.ts";
import type { DiscoveryReport } from "../discovery/discovery-report.ts";
import { sdkDirectory } from "../discovery/sdk-directory.ts";
import { Failure } from "../failure.ts";
import { counted } from "../terminal/counted.ts";
import { secondsSince } from "../terminal/seconds.ts";
import { type Exclusions, isPackageName, normalizedName, SDK_PACKAGE } from "./exclusions.ts";
import { findInstaller, install, type Installer, type Surroundings } from "./installer.ts";
import { tidyInstallation } from "./installed-files.ts";
import {
  type PythonSetting,
  type Reading,
  readRequirements,
  type Requirement,
  type Survey,
  surveyInstallation,
} from "./python-requirements.ts";
import { readWishes, type Wish, type Wishes } from "./requirement-files.ts";

export type DependencyTask = {
  readonly report: DiscoveryReport;
  /** Of the workers, such as 3.12. */
  readonly target: string;
  readonly exclusions: Exclusions;
  readonly withDependenciesOfDependencies: boolean;
  /** `.flash/.build` */
  readonly buildDirectory: string;
  /** Gets the packages at its top level. */
  readonly into: string;
};

export type Dependencies = {
  /** Requirements that were installed, as written. */
  readonly packages: readonly string[];
  /** `name==version` of all that is installed, sorted. */
  readonly resolved: readonly string[];
  /** Names that were left out although something needs them, sorted. */
  readonly excluded: readonly string[];
  readonly warnings: readonly string[];
};

type Judged = Requirement & { readonly wish: Wish };

/** Installs what an app asks for. Throws a Failure that names the requirement and its place. */
export async function installDependencies(cli: Cli, task: DependencyTask): Promise<Dependencies> {
  const wishes = await readWishes(cli.directory, task.report.endpoints, cli.environment);
  if (wishes.wishes.length === 0) return { packages: [], resolved: [], excluded: [], warnings: [] };
  const step = cli.terminal.step("Installing dependencies");
  const startedAt = performance.now();
  try {
    const done = await installWishes(cli, task, wishes, (line) => step.update(line));
    const count = done.resolved.length;
    step.done(
      count === 0
        ? "No dependencies to install"
        : `Installed ${counted(count, "package")} (${secondsSince(startedAt)} s)`,
    );
    return done;
  } catch (error) {
    step.fail("Installing dependencies failed");
    throw error;
  }
}

async function installWishes(
  cli: Cli,
  task: DependencyTask,
  wishes: Wishes,
  onLine: (line: string) => void,
): Promise<Dependencies> {
  const { exclusions, into } = task;
  const { requirements, setting } = await judge(cli, task, wishes.wishes);
  const roots = requirements.filter(({ key }) => key !== SDK_PACKAGE);
  const wanted = roots.filter(({ key }) => !exclusions.keys.includes(key));
  if (wanted.length === 0) {
    const excluded = [...new Set(roots.map(({ key }) => key))].sort();
    return { packages: [], resolved: [], excluded, warnings: [] };
  }
  const installer = await installerFor(cli, task);
  await run(cli, task, installer, wishes, wanted, onLine);
  const survey = await surveyInstallation(setting, into, roots, [...exclusions.keys, SDK_PACKAGE]);
  if (!survey) throw libraryMissing(setting);
  await tidyInstallation(into, survey);
  return {
    packages: [...new Set(wanted.map(({ wish }) => wish.text))],
    resolved: resolvedOf(survey),
    excluded: survey.excluded.filter((key) => key !== SDK_PACKAGE),
    warnings: [...installer.warnings, ...missingWarnings(task, survey)],
  };
}

type Judgement = { readonly requirements: readonly Judged[]; readonly setting: PythonSetting };

/** Requirements that apply to a worker; those that cannot be read or met are named with their places. */
async function judge(cli: Cli, task: DependencyTask, wishes: readonly Wish[]): Promise<Judgement> {
  const { reading, setting } = await read(cli, task, wishes);
  const judged: Judged[] = [];
  const faults: string[] = [];
  const told = (at: number): string => `${wishes[at]?.place}: ${wishes[at]?.text}`;
  for (const [at, requirement] of reading.requirements.entries()) {
    const wish = wishes[at];
    if ("error" in requirement) faults.push(`${told(at)}: ${requirement.error}`);
    else if (wish && requirement.applies) judged.push({ ...requirement, wish });
  }
  if (faults.length > 0) {
    throw new Failure("Some requirements cannot be read.", [
      ...faults,
      "Write them like name[extra]>=1.2,<2",
    ]);
  }
  const [conflict] = reading.conflicts;
  if (conflict) {
    throw new Failure("Two requirements contradict each other.", [told(conflict[0]), told(conflict[1])]);
  }
  return { requirements: judged, setting };
}

/** By the library of the interpreter; where it has none, pip of the installer has it, and uv can bring it. */
async function read(
  cli: Cli,
  task: DependencyTask,
  wishes: readonly Wish[],
): Promise<{ readonly reading: Reading; readonly setting: PythonSetting }> {
  const { executable } = task.report.python;
  const { environment, signal } = cli;
  const own = { executable, sdk: sdkDirectory(), environment, signal, target: task.target };
  const texts = wishes.map(({ text }) => text);
  const first = (await readRequirements(own, texts)) ?? bareNames(texts);
  if (first) return { reading: first, setting: own };
  const setting = await withLibrary(cli, task, own);
  const reading = await readRequirements(setting, texts);
  if (!reading) throw libraryMissing(setting);
  return { reading, setting };
}

/** Names alone say all that there is to say. */
function bareNames(texts: readonly string[]): Reading | undefined {
  const requirements = texts.map((text) => ({
    text,
    name: text,
    key: normalizedName(text),
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
  await install(surroundings(cli, task), installer, {
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
  return new Failure(`${executable} has no pip, so that it cannot read requirements.`, [
    "Install pip for it: python3-pip on Debian.",
  ]);
}

async function installerFor(cli: Cli, task: DependencyTask): Promise<Installer> {
  return await findInstaller(surroundings(cli, task), task.report.python, task.target);
}

async function run(
  cli: Cli,
  task: DependencyTask,
  installer: Installer,
  wishes: Wishes,
  wanted: readonly Judged[],
  onLine: (line: string) => void,
): Promise<void> {
  const requirementsFile = join(task.buildDirectory, "requirements.txt");
  const overridesFile = join(task.buildDirectory, "overrides.txt");
  await writeFile(requirementsFile, requirementText(wanted));
  // A requirement that never applies keeps a package, and what it would bring, from being installed.
  const never = [...task.exclusions.keys, SDK_PACKAGE].map((key) => `${key} ; python_version < "0"\n`);
  await writeFile(overridesFile, never.join(""));
  await install(surroundings(cli, task), installer, {
    target: task.target,
    requirementsFile,
    overridesFile,
    constraints: wishes.constraints,
    options: wishes.options,
    withDependenciesOfDependencies: task.withDependenciesOfDependencies,
    into: task.into,
    onLine,
  });
}

/** Modules of the project must not be in the way of those that pip imports. */
function surroundings(cli: Cli, task: DependencyTask): Surroundings {
  return { directory: task.buildDirectory, environment: cli.environment, signal: cli.signal };
}

/** One line for each that says something new. */
function requirementText(wanted: readonly Judged[]): string {
  const hashes = new Map<string, readonly string[]>();
  for (const { text, wish } of wanted) hashes.set(text, [...(hashes.get(text) ?? []), ...wish.hashes]);
  const lines = [...hashes].map(([text, known]) => [text, ...new Set(known.map((hash) => `--hash=${hash}`))]);
  return lines.map((words) => `${words.join(" ")}\n`).join("");
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

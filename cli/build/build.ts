/** Turns a project into an artifact and its manifest. */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import prettyBytes from "pretty-bytes";
import writeFileAtomic from "write-file-atomic";
import {
  type FlashManifest,
  flashManifestSchema,
  MANIFEST_FILE,
} from "../../src/contract/flash/flash-manifest.ts";
import { ARTIFACT_MAX_BYTES, MANIFEST_MAX_BYTES } from "../../src/contract/flash/flash-limits.ts";
import { issueLines } from "../../src/contract/validation-issues.ts";
import type { Cli } from "../core/cli.ts";
import { discover } from "../discovery/discovery.ts";
import type { DiscoveryReport } from "../discovery/discovery-report.ts";
import { Failure } from "../../src/std/failure.ts";
import { FLASH_DIRECTORY } from "../project/project.ts";
import { runtimeImages, toManifest } from "../manifest/manifest.ts";
import { choosePythonVersion } from "../manifest/python-version.ts";
import { secondsSince } from "../core/format.ts";
import { inStep } from "../core/terminal.ts";
import { type Dependencies, installDependencies } from "../requirements/app-dependencies.ts";
import { checkNamesFree, copyApp, handlerFiles, copySdk } from "./app-files.ts";
import { type Archive, packDirectory } from "./archive.ts";
import { endBuildDirectory, freshBuildDirectory, ignoreFlashDirectory } from "./build-directory.ts";
import {
  type Exclusions,
  exclusionLines,
  exclusionsOf,
  exclusionWarnings,
} from "../requirements/exclusions.ts";
import { declarationWarnings, importWarnings } from "./warnings.ts";
import {
  sourceFingerprint,
  type Project,
  type ProjectFile,
  readProject,
  shippedFiles,
} from "./project-files.ts";
import type { StoredManifest } from "./local-build.ts";

/** Options of the command line. */
export type BuildOptions = {
  /** False: dependencies of dependencies are not installed. */
  readonly deps: boolean;
  /** File name of the archive within `.flash/`. */
  readonly output?: string | undefined;
  readonly exclude: readonly string[];
  /** Python version of the workers, such as 3.12; by default that of the user's interpreter. */
  readonly pythonVersion?: string | undefined;
  /** Interpreter, by name or path. */
  readonly python?: string | undefined;
  readonly keepBuild?: boolean | undefined;
};

export type BuildResult = {
  readonly appName: string;
  readonly manifest: FlashManifest;
  readonly artifact: { readonly path: string; readonly sha256: string; readonly sizeBytes: number };
  readonly fileCount: number;
  /** Requirements that were installed, as written. */
  readonly packages: readonly string[];
  readonly excluded: readonly string[];
  readonly warnings: readonly string[];
  readonly seconds: number;
};

const DEFAULT_OUTPUT = "artifact.tar.gz";
/** Stored in the artifact, so that its bytes do not depend on when it was built. */
const NO_TIME = "1970-01-01T00:00:00Z";

/** Builds into `.flash/`. Throws a Failure that names what is wrong with the app, and where. */
export async function buildApp(cli: Cli, appName: string, options: BuildOptions): Promise<BuildResult> {
  const startedAt = performance.now();
  const output = outputName(options.output);
  const exclusions = exclusionsOf(options.exclude, cli.environment);
  const project = await readProject(cli.directory);
  checkIsProject(project);
  await ignoreFlashDirectory(cli.directory);
  const buildDirectory = await freshBuildDirectory(cli.directory);
  try {
    const build = new Build(cli, appName, options, project, exclusions, buildDirectory);
    const built = await build.run(join(cli.directory, FLASH_DIRECTORY, output));
    const seconds = secondsSince(startedAt);
    cli.terminal.done(`Built ${appName} (${seconds} s)`);
    return { ...built, seconds };
  } finally {
    await endBuildDirectory(cli.directory, buildDirectory, options.keepBuild === true);
  }
}

class Build {
  readonly #cli: Cli;
  readonly #appName: string;
  readonly #options: BuildOptions;
  readonly #project: Project;
  readonly #exclusions: Exclusions;
  readonly #directory: string;
  /** The content of the archive. */
  readonly #contents: string;
  readonly #warnings: string[] = [];

  constructor(
    cli: Cli,
    appName: string,
    options: BuildOptions,
    project: Project,
    exclusions: Exclusions,
    directory: string,
  ) {
    this.#cli = cli;
    this.#appName = appName;
    this.#options = options;
    this.#project = project;
    this.#exclusions = exclusions;
    this.#directory = directory;
    this.#contents = join(directory, "app");
  }

  async run(path: string): Promise<Omit<BuildResult, "seconds">> {
    const appName = this.#appName;
    this.#warn(this.#project.warnings);
    const report = await this.#discover();
    this.#warn(declarationWarnings(report));
    const files = shippedFiles(this.#project.files, report.localFiles);
    const target = choosePythonVersion(report, this.#options.pythonVersion);
    // Checked before anything is installed, so that errors of the app show at once.
    const draft = this.#manifest(report, target, { excluded: [], fingerprint: "" });
    checkNamesFree(files, handlerFiles(draft));
    await mkdir(this.#contents);
    const { packages, excluded, resolved } = await this.#install(report, target);
    const fingerprint = await sourceFingerprint({
      files,
      dependencies: resolved,
      pythonVersion: target,
      sdkVersion: report.sdkVersion,
    });
    const manifest = this.#manifest(report, target, { excluded, fingerprint });
    await this.#writeContents(files, manifest);
    this.#warn(await importWarnings(report, this.#contents, this.#exclusions));
    const archive = await this.#pack(path);
    const artifact = { path, ...archive };
    await this.#writeManifest(manifest, artifact);
    const warnings = this.#warnings;
    return { appName, manifest, artifact, fileCount: files.length, packages, excluded, warnings };
  }

  async #discover(): Promise<DiscoveryReport> {
    const files = this.#project.files.map(({ path }) => path).filter((path) => path.endsWith(".py"));
    return await discover(this.#cli, { files, python: this.#options.python });
  }

  #manifest(
    report: DiscoveryReport,
    pythonVersion: string,
    facts: { readonly excluded: readonly string[]; readonly fingerprint: string },
  ): FlashManifest {
    const manifest = toManifest(report, {
      appName: this.#appName,
      pythonVersion,
      images: runtimeImages(this.#cli.environment, pythonVersion),
      fingerprint: facts.fingerprint,
      excludedPackages: facts.excluded,
      generatedAt: new Date().toISOString(),
    });
    const checked = flashManifestSchema.safeParse(manifest);
    if (checked.success) return manifest;
    throw new Failure(
      "The declarations do not form a valid manifest.",
      issueLines(checked.error, { whole: "manifest" }),
    );
  }

  async #install(report: DiscoveryReport, target: string): Promise<Dependencies> {
    const dependencies = await installDependencies(this.#cli, {
      report,
      target,
      exclusions: this.#exclusions,
      withDependenciesOfDependencies: this.#options.deps,
      buildDirectory: this.#directory,
      into: this.#contents,
    });
    const { excluded } = dependencies;
    for (const line of exclusionLines(this.#exclusions, excluded)) this.#cli.terminal.say(`  ${line}`);
    this.#warn([...dependencies.warnings, ...exclusionWarnings(this.#exclusions, excluded)]);
    return dependencies;
  }

  /** Adds everything but the installed packages. */
  async #writeContents(files: readonly ProjectFile[], manifest: FlashManifest): Promise<void> {
    const replaced = await copyApp(files, this.#contents, this.#cli.signal);
    this.#warn(replaced.map((name) => `${name} of the project replaces the installed package.`));
    await copySdk(this.#contents);
    for (const { path, text } of handlerFiles(manifest)) await writeFile(join(this.#contents, path), text);
    const json = manifestJson({ ...manifest, generated_at: NO_TIME });
    await writeFile(join(this.#contents, MANIFEST_FILE), json);
  }

  async #pack(path: string): Promise<Archive> {
    const { terminal, signal } = this.#cli;
    const startedAt = performance.now();
    return await inStep(terminal, { title: "Packing", failed: "Packing failed" }, async (step) => {
      const packed = join(this.#directory, DEFAULT_OUTPUT);
      const archive = await packDirectory(this.#contents, packed, {
        maxBytes: ARTIFACT_MAX_BYTES,
        signal,
        onProgress: (doneBytes, totalBytes) => step.progress(doneBytes, totalBytes),
      });
      if (archive.kind === "too-large") throw tooLarge(archive.largest);
      await rename(packed, path);
      step.done(`Packed ${prettyBytes(archive.sizeBytes)} (${secondsSince(startedAt)} s)`);
      return { sha256: archive.sha256, sizeBytes: archive.sizeBytes };
    });
  }

  async #writeManifest(manifest: FlashManifest, { path, sha256 }: BuildResult["artifact"]): Promise<void> {
    const stored: StoredManifest = { ...manifest, artifact: { file: basename(path), sha256 } };
    await writeFileAtomic(
      join(this.#cli.directory, FLASH_DIRECTORY, MANIFEST_FILE),
      `${JSON.stringify(stored, null, 2)}\n`,
    );
  }

  #warn(warnings: readonly string[]): void {
    for (const warning of warnings) this.#cli.terminal.warn(warning);
    this.#warnings.push(...warnings);
  }
}

function manifestJson(manifest: FlashManifest): string {
  const json = `${JSON.stringify(manifest, null, 2)}\n`;
  if (Buffer.byteLength(json) <= MANIFEST_MAX_BYTES) return json;
  throw new Failure(`The manifest exceeds ${prettyBytes(MANIFEST_MAX_BYTES)}.`, [
    "Declare fewer endpoints in one app, or less environment with each.",
  ]);
}

function outputName(given: string | undefined): string {
  if (given === undefined) return DEFAULT_OUTPUT;
  if (given === basename(given) && /^[^.\\].*\.tar\.gz$/.test(given)) return given;
  throw new Failure(
    `--output must be the name of a file in ${FLASH_DIRECTORY}/ that ends with .tar.gz, not ${JSON.stringify(given)}.`,
  );
}

function checkIsProject({ files }: Project): void {
  if (files.some(({ path }) => path.endsWith(".py"))) return;
  throw new Failure("There are no Python files here.", [
    "Go to the directory of your app, or create one with `flash init my-app`.",
  ]);
}

function tooLarge(largest: readonly { readonly name: string; readonly bytes: number }[]): Failure {
  return new Failure(`The artifact exceeds ${prettyBytes(ARTIFACT_MAX_BYTES)} packed.`, [
    ...largest.map(({ name, bytes }) => `${name} takes ${prettyBytes(bytes)} unpacked.`),
    "Leave out packages that the image has (--exclude), list large files in .gitignore, and store models on a network volume.",
  ]);
}

export function showBuild({ directory, terminal }: Cli, result: BuildResult): void {
  const { appName, artifact, fileCount, packages, excluded, seconds } = result;
  const path = relative(directory, artifact.path);
  terminal.say(`  Files         ${fileCount}`);
  terminal.say(`  Dependencies  ${packages.length === 0 ? "none" : packages.join(", ")}`);
  terminal.say(`  Archive       ${path} (${prettyBytes(artifact.sizeBytes)})`);
  terminal.say(`  SHA-256       ${artifact.sha256}`);
  terminal.json({
    app: appName,
    endpoints: Object.keys(result.manifest.resources),
    artifact: { ...artifact, path },
    files: fileCount,
    packages,
    excluded,
    warnings: result.warnings,
    seconds,
  });
}

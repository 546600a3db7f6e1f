/** Reads a project: its files, what they declare, and what live workers need. */
import { join } from "node:path";
import { type Project, readProject } from "../../build/project-files.ts";
import type { Cli } from "../../core/cli.ts";
import type { LiveReport } from "../../discovery/discovery-report.ts";
import { runtimeImages, toManifest } from "../../manifest/manifest.ts";
import { choosePythonVersion } from "../../manifest/python-version.ts";
import { type AppReading, toReading } from "./app-reading.ts";
import { FileStates } from "./file-states.ts";
import { readPackages } from "./live-packages.ts";
import type { ResidentDiscovery } from "../../discovery/resident-discovery.ts";
import { SourceCache } from "./source-cache.ts";

/** A checkout may remove a directory while it is being read. */
const WALKS = 3;

/** The files of a project at one time. */
type Snapshot = {
  /** All Python files, relative to the project. */
  readonly files: readonly string[];
  readonly states: FileStates;
};

export type ReadApp = { readonly reading: AppReading; readonly report: LiveReport };

export class AppReader {
  readonly #cli: Cli;
  readonly #appName: string;
  readonly #discovery: ResidentDiscovery;
  readonly #sources: SourceCache;
  /** Files other than modules that declarations or requirements depend on; absolute paths. */
  #others: readonly string[];

  constructor(cli: Cli, appName: string, discovery: ResidentDiscovery) {
    this.#cli = cli;
    this.#appName = appName;
    this.#discovery = discovery;
    this.#sources = new SourceCache(cli.directory);
    this.#others = [join(cli.directory, "requirements.txt"), join(cli.directory, ".env")];
  }

  /** Absolute paths of files other than modules that matter. */
  get others(): readonly string[] {
    return this.#others;
  }

  source(sha256: string): string | undefined {
    return this.#sources.get(sha256);
  }

  /** `follow` receives all directories and returns whether some are new. */
  async scan(
    follow: (directories: readonly string[]) => boolean,
    before: FileStates | undefined,
  ): Promise<Snapshot> {
    let { files, directories } = await readWithRetries(this.#cli.directory);
    // Files may have been added to a directory before it was followed.
    while (follow(directories)) ({ files, directories } = await readWithRetries(this.#cli.directory));
    const modules = files.map(({ path }) => path).filter((path) => path.endsWith(".py"));
    const whole = modules.map((path) => join(this.#cli.directory, path));
    const states = await FileStates.of([...directories, ...whole, ...this.#others], before);
    return { files: modules, states };
  }

  /** Undefined when files have changed meanwhile, or a newer reading has started. */
  async read(
    { files }: Snapshot,
    before: AppReading,
    onInterim: (interim: Promise<ReadApp | undefined>) => void,
  ): Promise<ReadApp | undefined> {
    const report = await this.#discovery.read(files, (interim) => {
      onInterim(this.#interpret(interim, files, before));
    });
    return report === undefined ? undefined : await this.#interpret(report, files, before);
  }

  async #interpret(
    report: LiveReport,
    files: readonly string[],
    before: AppReading,
  ): Promise<ReadApp | undefined> {
    const { directory, environment } = this.#cli;
    const { changed, unsendable } = await this.#sources.update(report.hashes);
    if (changed.length > 0) return undefined;
    const packages = await readPackages(directory, report.endpoints, environment);
    const opened = report.opened.map((path) => join(directory, path));
    this.#others = [...new Set([...packages.files, ...opened])];
    const resources = this.#resources(report);
    const findings = { report, resources, packages, files, unsendable };
    return { reading: toReading(findings, before), report };
  }

  #resources(report: LiveReport) {
    const pythonVersion = choosePythonVersion(report);
    return toManifest(report, {
      appName: this.#appName,
      pythonVersion,
      images: runtimeImages(this.#cli.environment, pythonVersion),
      fingerprint: "",
      excludedPackages: [],
      generatedAt: "",
    }).resources;
  }
}

async function readWithRetries(directory: string): Promise<Project> {
  for (let walk = 1; ; walk += 1) {
    try {
      return await readProject(directory);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || walk === WALKS) throw error;
    }
  }
}

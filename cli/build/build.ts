/** Turns a project into an artifact and its manifest. */
import type { Cli } from "../cli.ts";
import { Failure } from "../failure.ts";
import type { FlashManifest } from "../../src/contract/flash-manifest.ts";

export type BuildOptions = {
  readonly appName: string;
  /** False: nothing that dependencies need themselves is installed (`--no-deps`). */
  readonly withDependenciesOfDependencies: boolean;
  /** File name of the archive within `.flash/`. */
  readonly output?: string | undefined;
  readonly exclude: readonly string[];
  /** Target, such as 3.12; by default that of the person's interpreter. */
  readonly pythonVersion?: string | undefined;
  /** Interpreter. */
  readonly python?: string | undefined;
  readonly keepsBuildDirectory: boolean;
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

/** Builds into `.flash/`. Throws a Failure that says what is wrong with the app, and where. */
export async function buildApp(_cli: Cli, _options: BuildOptions): Promise<BuildResult> {
  throw new Failure("Building is not there yet.");
}

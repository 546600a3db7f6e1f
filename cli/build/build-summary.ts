/** What a build tells at its end. */
import { relative } from "node:path";
import prettyBytes from "pretty-bytes";
import type { Cli } from "../core/cli.ts";
import type { BuildResult } from "./build.ts";

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

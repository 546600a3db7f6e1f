/** Packages that the code imports as it is loaded, and that its workers will not find. */
import { readdir } from "node:fs/promises";
import type { DiscoveryReport } from "../discovery/discovery-report.ts";
import { type Exclusions, normalizedName, SDK_PACKAGE } from "../requirements/exclusions.ts";

/** `contents` is what is packed: the app with its packages. */
export async function importWarnings(
  { imports = [] }: DiscoveryReport,
  contents: string,
  { keys }: Exclusions,
): Promise<readonly string[]> {
  const names = (await readdir(contents)).map(moduleOf);
  const provided = new Set([...names, SDK_PACKAGE]);
  const missing = imports.filter(
    ({ module }) => !provided.has(module) && !keys.includes(normalizedName(module)),
  );
  const first = new Map(missing.toReversed().map((found) => [found.module, found]));
  return [...first.values()]
    .toReversed()
    .map(
      ({ file, line, module }) =>
        `${file}:${line} imports ${module}, which is neither in the app nor among its packages. Unless the image has it, ` +
        `no worker can start: add it to the endpoint's dependencies=[…] or to requirements.txt.`,
    );
}

/** The name under which a file or directory is imported: that of an extension ends at its first dot. */
function moduleOf(name: string): string {
  if (name.endsWith(".py")) return name.slice(0, -".py".length);
  return /\.(so|pyd)$/.test(name) ? name.slice(0, name.indexOf(".")) : name;
}

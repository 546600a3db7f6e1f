/** What live workers install: requirements.txt, and what endpoints declare whose files the code needs. */
import { join } from "node:path";
import { normalizedName, SDK_PACKAGE } from "../../build/exclusions.ts";
import { readWishes, type Wishes } from "../../build/requirement-files.ts";
import type { DiscoveredEndpoint } from "../../discovery/discovery-report.ts";
import { Failure } from "../../failure.ts";
import type { Packages } from "./app-reading.ts";

export type AppPackages = {
  /** By endpoint name. */
  readonly byEndpoint: ReadonlyMap<string, Packages>;
  /** Files that were read or looked for, as whole paths. */
  readonly files: readonly string[];
};

/** Reads what each endpoint needs; what cannot be installed is its problem. */
export async function readPackages(
  directory: string,
  endpoints: readonly DiscoveredEndpoint[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<AppPackages> {
  const files = new Set([join(directory, "requirements.txt")]);
  const byEndpoint = new Map<string, Packages>();
  for (const endpoint of endpoints) {
    if (endpoint.isClient) continue;
    const needed = endpoints.filter(({ filePath }) => endpoint.localFiles.includes(filePath));
    try {
      const wishes = await readWishes(directory, needed, environment);
      for (const file of wishes.files) files.add(file);
      byEndpoint.set(endpoint.name, { dependencies: requirementsOf(wishes), problems: [] });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      byEndpoint.set(endpoint.name, { dependencies: [], problems: [...error.advice] });
    }
  }
  return { byEndpoint, files: [...files] };
}

/** Each once, in order, without the package of the command, which a worker has in the right version. */
function requirementsOf({ wishes }: Wishes): readonly string[] {
  const texts = wishes.map(({ text }) => text);
  return [...new Set(texts)].filter((text) => nameOf(text) !== SDK_PACKAGE);
}

function nameOf(requirement: string): string {
  return normalizedName(/^[A-Za-z0-9._-]*/.exec(requirement)?.[0] ?? "");
}

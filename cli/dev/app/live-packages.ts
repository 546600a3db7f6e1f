/** What live workers install: requirements.txt, and what endpoints declare whose files the code needs. */
import { isAbsolute, join } from "node:path";
import { exclusionsOf, LARGE_PACKAGES, normalizedName, SDK_PACKAGE } from "../../requirements/exclusions.ts";
import { readRequirementFiles, type RequirementFiles } from "../../requirements/requirement-files.ts";
import type { DiscoveredEndpoint } from "../../discovery/discovery-report.ts";
import { Failure } from "../../core/failure.ts";

/** What is to be installed for one endpoint, as lines of a requirements file, or why it cannot be. */
export type Packages = { readonly dependencies: readonly string[]; readonly problems: readonly string[] };

export type AppPackages = {
  /** By endpoint name. */
  readonly byEndpoint: ReadonlyMap<string, Packages>;
  /** Files that were read or looked for, as whole paths. */
  readonly files: readonly string[];
  readonly warnings: readonly string[];
};

/** Reads what each endpoint needs; what cannot be installed is its problem. */
export async function readPackages(
  directory: string,
  endpoints: readonly DiscoveredEndpoint[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<AppPackages> {
  const files = new Set([join(directory, "requirements.txt")]);
  const warnings = new Set<string>();
  const byEndpoint = new Map<string, Packages>();
  const leftOut = leftOutOf(environment);
  for (const endpoint of endpoints) {
    if (endpoint.isClient) continue;
    const needed = endpoints.filter(({ filePath }) => endpoint.localFiles.includes(filePath));
    try {
      const declared = await readRequirementFiles(directory, needed, environment);
      for (const file of declared.files) files.add(file);
      for (const warning of warningsOf(declared)) warnings.add(warning);
      byEndpoint.set(endpoint.name, { dependencies: requirementsOf(declared, leftOut), problems: [] });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      byEndpoint.set(endpoint.name, { dependencies: [], problems: [...error.advice] });
    }
  }
  return { byEndpoint, files: [...files], warnings: [...warnings] };
}

/** Files and directories of this computer do not travel to live workers. */
function warningsOf({ constraints, options }: RequirementFiles): readonly string[] {
  return [
    ...constraints.map((file) => `Live workers do not know the constraints of ${file}.`),
    ...options
      .filter(isOfThisComputer)
      .map(({ value }) => `Live workers do not find the packages in ${value}.`),
  ];
}

function isOfThisComputer({ name, value }: RequirementFiles["options"][number]): boolean {
  return name === "--find-links" && value !== undefined && isAbsolute(value);
}

/**
 * The package of the command, which a worker has in the right version; and of what images have, whatever takes
 * gigabytes: a worker that lacks it says so, where it is imported.
 */
function leftOutOf(environment: Readonly<Record<string, string | undefined>>): ReadonlySet<string> {
  const { inImage } = exclusionsOf([], environment);
  return new Set([SDK_PACKAGE, ...LARGE_PACKAGES.filter((name) => inImage.has(name))]);
}

/** Lines of a requirements file, each once. Where packages are looked for comes first. */
function requirementsOf(
  { requirements, options }: RequirementFiles,
  leftOut: ReadonlySet<string>,
): readonly string[] {
  const specifiers = requirements
    .map(({ specifier }) => specifier)
    .filter((specifier) => !leftOut.has(nameOf(specifier)));
  if (specifiers.length === 0) return [];
  const reachable = options.filter((option) => !isOfThisComputer(option));
  const places = reachable.map(({ name, value }) => (value === undefined ? name : `${name} ${value}`));
  return [...new Set([...places, ...specifiers])];
}

function nameOf(requirement: string): string {
  return normalizedName(/^[A-Za-z0-9._-]*/.exec(requirement)?.[0] ?? "");
}

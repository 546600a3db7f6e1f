/** Packages that live workers install: requirements.txt, and dependencies of endpoints whose files the code needs. */
import { isAbsolute, join } from "node:path";
import { exclusionsOf, LARGE_PACKAGES, normalizedName, SDK_PACKAGE } from "../../requirements/exclusions.ts";
import { readRequirementFiles, type RequirementFiles } from "../../requirements/requirement-files.ts";
import type { DiscoveredEndpoint } from "../../discovery/discovery-report.ts";
import { Failure } from "../../../src/std/failure.ts";

/** Lines of a requirements file for one endpoint, or why they cannot be installed. */
export type Packages = { readonly dependencies: readonly string[]; readonly problems: readonly string[] };

export type AppPackages = {
  /** By endpoint name. */
  readonly byEndpoint: ReadonlyMap<string, Packages>;
  /** Files that were read or looked for, as absolute paths. */
  readonly files: readonly string[];
  readonly warnings: readonly string[];
};

/** Reads the requirements of each endpoint. */
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

/** Files and directories of this computer are not sent to live workers. */
function warningsOf({ constraints, options }: RequirementFiles): readonly string[] {
  return [
    ...constraints.map((file) => `Live workers ignore the constraints of ${file}.`),
    ...options
      .filter(isOfThisComputer)
      .map(({ value }) => `Live workers do not find the packages in ${value}.`),
  ];
}

function isOfThisComputer({ name, value }: RequirementFiles["options"][number]): boolean {
  return name === "--find-links" && value !== undefined && isAbsolute(value);
}

/**
 * Packages that live workers do not install: `edgerun`, which they have in the right version, and packages of the images
 * that take gigabytes. Importing one that is missing fails in the worker with a message.
 */
function leftOutOf(environment: Readonly<Record<string, string | undefined>>): ReadonlySet<string> {
  const { inImage } = exclusionsOf([], environment);
  return new Set([SDK_PACKAGE, ...LARGE_PACKAGES.filter((name) => inImage.has(name))]);
}

/** Lines of a requirements file without duplicates, options first. */
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

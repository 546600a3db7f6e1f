/** What an app requires: its requirements.txt with included files, and the dependencies of its endpoints. */
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { DiscoveredEndpoint } from "../discovery/discovery-report.ts";
import { Failure } from "../../src/std/failure.ts";
import { canAccess, readIfThere } from "../core/files.ts";
import {
  localPathReason,
  type RequirementLine,
  requirementLines,
  type SourceOption,
} from "./requirement-lines.ts";

/** One requirement, and where it is declared. */
export type DeclaredRequirement = {
  readonly specifier: string;
  readonly hashes: readonly string[];
  readonly place: string;
};

export type RequirementFiles = {
  readonly requirements: readonly DeclaredRequirement[];
  /** Package indexes and other sources. */
  readonly options: readonly { readonly name: SourceOption; readonly value: string | undefined }[];
  /** Files of constraints, as absolute paths. */
  readonly constraints: readonly string[];
  /** All files that were read or looked for, as absolute paths. */
  readonly files: readonly string[];
};

const FILE = "requirements.txt";

/** Throws a Failure that names every requirement that cannot be installed. */
export async function readRequirementFiles(
  directory: string,
  endpoints: readonly DiscoveredEndpoint[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<RequirementFiles> {
  const reading = new Reading(directory, environment);
  await reading.read(join(directory, FILE));
  for (const endpoint of endpoints) reading.add(endpoint);
  return reading.end();
}

class Reading {
  readonly #directory: string;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #requirements: DeclaredRequirement[] = [];
  readonly #options: RequirementFiles["options"][number][] = [];
  readonly #constraints: string[] = [];
  readonly #rejected: string[] = [];
  readonly #files: string[] = [];

  constructor(directory: string, environment: Readonly<Record<string, string | undefined>>) {
    this.#directory = directory;
    this.#environment = environment;
  }

  /** `including` are the files that led here, each with the line that includes the next. */
  async read(path: string, including: readonly { path: string; place: string }[] = []): Promise<void> {
    this.#files.push(path);
    const content = (await readIfThere(path))?.toString();
    const place = including.at(-1)?.place;
    if (content === undefined) {
      if (place !== undefined) this.#rejected.push(`${place}: ${this.#displayPath(path)} does not exist.`);
      return;
    }
    const inner = [...including, { path, place: this.#displayPath(path) }];
    for (const line of requirementLines(content, this.#environment)) await this.#take(line, path, inner);
  }

  /** Adds the dependencies of an endpoint; one with its own image has none. */
  add(endpoint: DiscoveredEndpoint): void {
    if (endpoint.isClient) return;
    const place = `${endpoint.filePath}:${endpoint.line} (endpoint ${endpoint.name})`;
    for (const specifier of endpoint.dependencies) {
      const reason = localPathReason(specifier);
      if (reason === undefined) this.#requirements.push({ specifier, hashes: [], place });
      else this.#rejected.push(`${place}: ${JSON.stringify(specifier)} cannot be installed: ${reason}.`);
    }
  }

  end(): RequirementFiles {
    if (this.#rejected.length > 0)
      throw new Failure("Some requirements cannot be installed.", this.#rejected);
    const constraints = this.#constraints;
    const files = [...this.#files, ...constraints];
    return { requirements: this.#requirements, options: this.#options, constraints, files };
  }

  async #take(
    line: RequirementLine,
    path: string,
    including: readonly { path: string; place: string }[],
  ): Promise<void> {
    const place = `${this.#displayPath(path)}:${line.line}`;
    const beside = (name: string): string => resolve(dirname(path), name);
    if (line.kind === "requirement")
      this.#requirements.push({ specifier: line.text, hashes: line.hashes, place });
    else if (line.kind === "refused") {
      this.#rejected.push(`${place}: ${JSON.stringify(line.text)} cannot be installed: ${line.reason}.`);
    } else if (line.kind === "option") {
      const value = line.name === "--find-links" ? await findLinks(line.value, beside) : line.value;
      this.#options.push({ name: line.name, value });
    } else if (line.kind === "constraints") {
      const file = beside(line.path);
      if (await canAccess(file)) this.#constraints.push(file);
      else this.#rejected.push(`${place}: ${this.#displayPath(file)} does not exist.`);
    } else if (including.some((file) => file.path === beside(line.path))) {
      this.#rejected.push(`${place}: ${line.path} includes itself.`);
    } else {
      await this.read(beside(line.path), [...including.slice(0, -1), { path, place }]);
    }
  }

  #displayPath(path: string): string {
    const within = relative(this.#directory, path);
    return within.startsWith("..") || isAbsolute(within) ? path : within.split(sep).join("/");
  }
}

/** A directory next to the file as an absolute path; a URL stays as it is. */
async function findLinks(
  value: string | undefined,
  beside: (name: string) => string,
): Promise<string | undefined> {
  return value !== undefined && (await canAccess(beside(value))) ? beside(value) : value;
}

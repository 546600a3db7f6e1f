/** The files of a project that may go into its artifact. */
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { Failure } from "../../src/std/failure.ts";
import { byProductDirectories, IgnoreRules, isNeverShipped } from "./ignore-rules.ts";
import { createHash, type Hash } from "node:crypto";

export type ProjectFile = {
  /** Within the project, with forward slashes. */
  readonly path: string;
  /** Where its bytes are: the target of a link, else the path itself. */
  readonly source: string;
  readonly isExecutable: boolean;
};

export type Project = {
  /** Sorted by path. */
  readonly files: readonly ProjectFile[];
  /** All directories that were read, as absolute paths without links. */
  readonly directories: readonly string[];
  readonly warnings: readonly string[];
};

/** Lists the files of a project that no rule ignores. Follows links inside it; a link that leaves it is a Failure. */
export async function readProject(directory: string): Promise<Project> {
  const walk = new Walk(await realpath(directory));
  return await walk.run();
}

/**
 * The files that are shipped. Directories called env, build, dist, docs or tests are left out unless they hold one of
 * the `localFiles` that endpoints need.
 */
export function shippedFiles(
  files: readonly ProjectFile[],
  localFiles: readonly string[],
): readonly ProjectFile[] {
  const needed = new Set(localFiles.flatMap(byProductDirectories));
  return files.filter(({ path }) => byProductDirectories(path).every((directory) => needed.has(directory)));
}

class Walk {
  readonly #root: string;
  readonly #files: ProjectFile[] = [];
  readonly #directories: string[] = [];
  readonly #warnings: string[] = [];
  readonly #badLinks: string[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  async run(): Promise<Project> {
    await this.#enter("", this.#root, new IgnoreRules(), []);
    if (this.#badLinks.length > 0) {
      throw new Failure("The project has symbolic links that cannot be shipped.", [
        ...this.#badLinks.sort(),
        "Move their targets into the project, or list the links in .gitignore.",
      ]);
    }
    const files = this.#files.sort((one, other) => (one.path < other.path ? -1 : 1));
    return { files, directories: this.#directories, warnings: this.#warnings };
  }

  /** `above` are the directories on the way, so that a link into one of them is not followed for ever. */
  async #enter(path: string, real: string, outer: IgnoreRules, above: readonly string[]): Promise<void> {
    const entries = await readdir(real, { withFileTypes: true });
    const names = new Set(entries.map((entry) => entry.name));
    if (names.has("pyvenv.cfg") || names.has("conda-meta")) return;
    this.#directories.push(real);
    if (path === "" && names.has(".flashignore")) {
      this.#warnings.push(".flashignore is not read. Move its lines to .gitignore.");
    }
    const rules = names.has(".gitignore")
      ? outer.with(path, await readFile(join(real, ".gitignore"), "utf8"))
      : outer;
    for (const entry of entries) {
      const inner = path === "" ? entry.name : `${path}/${entry.name}`;
      const absolutePath = join(real, entry.name);
      if (entry.isSymbolicLink()) await this.#follow(inner, absolutePath, rules, [...above, real]);
      else if (isLeftOut(inner, entry.isDirectory(), rules)) continue;
      else if (entry.isDirectory()) await this.#enter(inner, absolutePath, rules, [...above, real]);
      else if (entry.isFile()) await this.#take(inner, absolutePath);
      else this.#warnings.push(`${inner} is not a regular file and is left out.`);
    }
  }

  async #follow(
    path: string,
    absolutePath: string,
    rules: IgnoreRules,
    above: readonly string[],
  ): Promise<void> {
    // Git treats a link as a file, wherever it leads; built-in rules apply to files and directories alike.
    if (isLeftOut(path, false, rules) || isNeverShipped(`${path}/`)) return;
    const target = await realpath(absolutePath).catch(() => undefined);
    if (target === undefined) {
      this.#warnings.push(`${path} is a broken link and is left out.`);
      return;
    }
    if (!target.startsWith(this.#root + sep) && target !== this.#root) {
      this.#badLinks.push(`${path} leads out of the project, to ${target}.`);
      return;
    }
    const isDirectory = (await stat(target)).isDirectory();
    const name = slashed(relative(this.#root, target));
    if (name !== "" && isNeverShipped(isDirectory ? `${name}/` : name)) return;
    if (!isDirectory) await this.#take(path, target);
    else if (above.includes(target)) this.#badLinks.push(`${path} leads to a directory that it is in.`);
    else await this.#enter(path, target, rules, above);
  }

  async #take(path: string, source: string): Promise<void> {
    const { mode } = await lstat(source);
    this.#files.push({ path, source, isExecutable: (mode & 0o100) !== 0 });
  }
}

function isLeftOut(path: string, isDirectory: boolean, rules: IgnoreRules): boolean {
  const named = isDirectory ? `${path}/` : path;
  return isNeverShipped(named) || rules.ignores(named);
}

function slashed(path: string): string {
  return path.split(sep).join("/");
}

type FingerprintInput = {
  /** Sorted by path. */
  readonly files: readonly Pick<ProjectFile, "path" | "source">[];
  /** `name==version` of everything that is installed, sorted. */
  readonly dependencies: readonly string[];
  /** Such as 3.12. */
  readonly pythonVersion: string;
  readonly sdkVersion: string;
};

/** Fingerprint of the sources of an app, in hex. Location of the project and times of files play no part. */
export async function sourceFingerprint(input: FingerprintInput): Promise<string> {
  const hash = createHash("sha256");
  for (const { path, source } of input.files) {
    frame(hash, Buffer.from(path));
    frame(hash, await readFile(source));
  }
  for (const value of [...input.dependencies, input.pythonVersion, input.sdkVersion]) {
    frame(hash, Buffer.from(value));
  }
  return hash.digest("hex");
}

/** Prefixes the length, so that no two lists of strings give the same bytes. */
function frame(hash: Hash, bytes: Buffer): void {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(bytes.length));
  hash.update(length).update(bytes);
}

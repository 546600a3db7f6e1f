import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";

const FILE_NAME = ".env";

export type EnvironmentFile = {
  readonly path: string;
  readonly entries: Readonly<Record<string, string | undefined>>;
};

/** The first `.env` from a directory upward. */
export async function findEnvironmentFile(directory: string): Promise<EnvironmentFile | undefined> {
  for (let folder = directory; ; folder = dirname(folder)) {
    const path = join(folder, FILE_NAME);
    const text = await readIfThere(path);
    if (text !== undefined) return { path, entries: parseEnv(text) };
    if (dirname(folder) === folder) return undefined;
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    // A directory of this name is a virtual environment to some.
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes((error as NodeJS.ErrnoException).code ?? ""))
      return undefined;
    throw error;
  }
}

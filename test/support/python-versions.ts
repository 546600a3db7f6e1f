/** The Pythons of this computer that the package is for, and an environment with pytest for each. */
import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { execa } from "execa";
import { ensureVenv } from "./uv.ts";

/** Clients pack the last two with APIs of apps that list their resources; these versions are the same for all Pythons. */
const PACKAGES = ["pytest==9.2.0", "fastapi==0.128.0", "uvicorn==0.40.0"].join("\n");

export const PYTHON_VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"] as const;
export type PythonVersion = (typeof PYTHON_VERSIONS)[number];

/** The interpreter of each version, undefined for those that are not on this computer. */
export async function findPythons(): Promise<
  readonly { readonly version: PythonVersion; readonly interpreter: string | undefined }[]
> {
  return await Promise.all(
    PYTHON_VERSIONS.map(async (version) => ({ version, interpreter: await findPython(version) })),
  );
}

/** The interpreter of this version: one that pyenv has installed, in /usr/bin, or on the PATH. */
async function findPython(version: PythonVersion): Promise<string | undefined> {
  const candidates = [...(await pyenvPythons(version)), `/usr/bin/python${version}`, `python${version}`];
  for (const candidate of candidates) if (await isUsable(candidate, version)) return candidate;
  return undefined;
}

/** Makes sure that there is an environment with pytest for this interpreter; answers the path of its python. */
export async function ensurePytestVenv(version: PythonVersion, interpreter: string): Promise<string> {
  return await ensureVenv(`pytest-${version}`, interpreter, PACKAGES);
}

async function pyenvPythons(version: PythonVersion): Promise<readonly string[]> {
  const root = `${process.env["PYENV_ROOT"] ?? `${homedir()}/.pyenv`}/versions`;
  const names = await readdir(root).catch(() => []);
  return names
    .filter((name) => name.startsWith(`${version}.`))
    .map((name) => `${root}/${name}/bin/python${version}`);
}

/** A shim of pyenv may be on the PATH for a version that it does not run. */
async function isUsable(candidate: string, version: PythonVersion): Promise<boolean> {
  const script = "import sys; print(*sys.version_info[:2], sep='.')";
  const { exitCode, stdout } = await execa(candidate, ["-c", script], { reject: false });
  return exitCode === 0 && stdout.trim() === version;
}

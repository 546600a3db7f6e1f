/** The Pythons of this computer that the package is for, and an environment with pytest for each. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { inTurn } from "./turn.ts";

const FOLDER = fileURLToPath(new URL("../../.venv", import.meta.url));
const PYTEST = "pytest==9.2.0";

export const PYTHON_VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"] as const;
export type PythonVersion = (typeof PYTHON_VERSIONS)[number];

/** The interpreter of this version: on the PATH, in /usr/bin, or one that pyenv has installed. */
export async function findPython(version: PythonVersion): Promise<string | undefined> {
  const candidates = [`python${version}`, `/usr/bin/python${version}`, ...(await pyenvPythons(version))];
  for (const candidate of candidates) if (await isUsable(candidate, version)) return candidate;
  return undefined;
}

/** Makes sure that there is an environment with pytest for this interpreter; answers the path of its python. */
export async function ensurePytestVenv(version: PythonVersion, interpreter: string): Promise<string> {
  const folder = `${FOLDER}/pytest-${version}`;
  return await inTurn(`pytest-venv-${version}`, async () => {
    const python = `${folder}/bin/python`;
    const marker = `${folder}/installed.txt`;
    const installed = await readFile(marker, "utf8").catch(() => "");
    if (installed === PYTEST) return python;
    await execa(interpreter, ["-m", "venv", "--clear", folder]);
    await execa(python, ["-m", "pip", "install", "--quiet", PYTEST]);
    await writeFile(marker, PYTEST);
    return python;
  });
}

async function pyenvPythons(version: PythonVersion): Promise<readonly string[]> {
  const root = `${process.env["PYENV_ROOT"] ?? `${homedir()}/.pyenv`}/versions`;
  const names = await readdir(root).catch(() => []);
  return names
    .filter((name) => name.startsWith(`${version}.`))
    .map((name) => `${root}/${name}/bin/python${version}`);
}

/** A shim of pyenv may be on the PATH for a version that it does not run; and venv is a package of its own in Debian. */
async function isUsable(candidate: string, version: PythonVersion): Promise<boolean> {
  const script = "import ensurepip, sys, venv; print(*sys.version_info[:2], sep='.')";
  const { exitCode, stdout } = await execa(candidate, ["-c", script], { reject: false });
  return exitCode === 0 && stdout.trim() === version;
}

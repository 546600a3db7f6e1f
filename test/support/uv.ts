/** uv, and environments of Python that it makes, in a tenth of the time that pip takes. */
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { execa } from "execa";
import { inTurn } from "./turn.ts";

const FOLDER = resolve(import.meta.dirname, "../../.venv");
const UV = join(FOLDER, "uv/bin/uv");
/** Holds uv, and nothing else. */
const ALONE = join(FOLDER, "uv/bin/alone");
const VERSION = "uv==0.13.9";

/** Makes sure that there is an environment of this interpreter with the packages; answers the path of its python. */
export async function ensureVenv(name: string, interpreter: string, packages: string): Promise<string> {
  await ensureUv();
  const folder = join(FOLDER, name);
  const python = join(folder, "bin/python");
  await makeOnce(name, `with pip\n${packages}`, async () => {
    await execa(UV, ["venv", "--quiet", "--clear", "--seed", "--python", interpreter, folder]);
    await execa(UV, ["pip", "install", "--quiet", "--python", python, "--requirement", "-"], {
      env: { UV_SYSTEM_CERTS: "1", ...(await indexOfPip()) },
      input: packages,
    });
  });
  return python;
}

/** Makes a new environment of a requirements file, whose names are found in a folder of wheels alone; its bin. */
export async function installRequirements(
  requirements: string,
  house: string,
  folder: string,
): Promise<string> {
  await ensureUv();
  await execa(UV, ["venv", "--quiet", "--python", "python3", folder]);
  const python = join(folder, "bin/python");
  const places = ["--no-index", "--find-links", house, "--no-cache"];
  await execa(UV, ["pip", "install", "--quiet", ...places, "--python", python, "-r", requirements]);
  return join(folder, "bin");
}

/** A PATH on which uv is found first, and nothing else beside it. */
export async function pathWithUv(): Promise<string> {
  await ensureUv();
  return `${ALONE}${delimiter}${process.env["PATH"] ?? ""}`;
}

async function ensureUv(): Promise<void> {
  await makeOnce("uv", VERSION, async (folder) => {
    await execa("python3", ["-m", "venv", "--clear", folder]);
    await execa(join(folder, "bin/python"), ["-m", "pip", "install", "--quiet", "--no-compile", VERSION]);
    await mkdir(ALONE);
    await symlink(UV, join(ALONE, "uv"));
  });
}

/** Makes a folder below .venv/ unless it was made for the same, while others that need it wait; answers its path. */
export async function makeOnce(
  name: string,
  wanted: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(FOLDER, name);
  const marker = join(folder, "made-for.txt");
  await inTurn(`venv-${name}`, async () => {
    if ((await readFile(marker, "utf8").catch(() => "")) === wanted) return;
    await make(folder);
    await writeFile(marker, wanted);
  });
  return folder;
}

/** uv does not read what pip is told of the index that this computer uses. */
async function indexOfPip(): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await execa(join(FOLDER, "uv/bin/python"), ["-m", "pip", "config", "list"]);
  const [, address] = /^(?:global|install|:env:)\.index-url='(.+)'$/m.exec(stdout) ?? [];
  return address === undefined ? {} : { UV_DEFAULT_INDEX: address };
}

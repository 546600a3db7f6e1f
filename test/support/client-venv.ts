/** A Python environment for the real Python client, made once under .venv/. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { inTurn } from "./turn.ts";

const FOLDER = fileURLToPath(new URL("../../.venv/clients", import.meta.url));
const REQUIREMENTS = fileURLToPath(new URL("../clients/requirements.txt", import.meta.url));

/** Makes sure that the environment holds what requirements.txt says; answers the path of its python. */
export function ensureClientVenv(): Promise<string> {
  return inTurn("client-venv", ensureInstalled);
}

async function ensureInstalled(): Promise<string> {
  const python = `${FOLDER}/bin/python`;
  const marker = `${FOLDER}/installed.txt`;
  const wanted = await readFile(REQUIREMENTS, "utf8");
  const installed = await readFile(marker, "utf8").catch(() => "");
  if (installed === wanted) return python;

  await mkdir(FOLDER, { recursive: true });
  await execa("python3", ["-m", "venv", "--clear", FOLDER]);
  await execa(python, ["-m", "pip", "install", "--quiet", "--no-compile", "--requirement", REQUIREMENTS]);
  await writeFile(marker, wanted);
  return python;
}

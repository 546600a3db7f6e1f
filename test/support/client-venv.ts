/** A Python environment for the real Python clients, made once under .venv/. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ensureVenv } from "./uv.ts";

const REQUIREMENTS = fileURLToPath(new URL("../clients/requirements.txt", import.meta.url));

/** Makes sure that the environment holds what requirements.txt says; answers the path of its python. */
export async function ensureClientVenv(): Promise<string> {
  return await ensureVenv("clients", "python3", await readFile(REQUIREMENTS, "utf8"));
}

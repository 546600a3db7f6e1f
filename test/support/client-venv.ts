/** Python environments for the real Python clients, made once under .venv/. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ensureVenv } from "./uv.ts";

/** Versions 1 and 2 of the package runpod exclude each other. */
const REQUIREMENTS = { clients: "requirements.txt", "clients-v2": "requirements-v2.txt" } as const;

/** Makes sure that the environment holds what its requirements say; answers the path of its python. */
export async function ensureClientVenv(name: keyof typeof REQUIREMENTS = "clients"): Promise<string> {
  const file = fileURLToPath(new URL(`../clients/${REQUIREMENTS[name]}`, import.meta.url));
  return await ensureVenv(name, "python3", await readFile(file, "utf8"));
}

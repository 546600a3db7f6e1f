/** The npm package @runpod/mcp-server, installed once under .venv/ as its lock file says. */
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { makeOnce } from "./uv.ts";

const FILES = fileURLToPath(new URL("../clients/mcp/", import.meta.url));
const INSTALL = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];

/** Makes sure that it is installed; answers the path of its program. */
export async function ensureMcpServer(): Promise<string> {
  const lock = await readFile(join(FILES, "package-lock.json"), "utf8");
  const folder = await makeOnce("mcp", lock, async (cwd) => {
    await mkdir(cwd, { recursive: true });
    for (const name of ["package.json", "package-lock.json"])
      await copyFile(join(FILES, name), join(cwd, name));
    await execa("npm", INSTALL, { cwd });
  });
  return join(folder, "node_modules/@runpod/mcp-server/dist/stdio.mjs");
}

/** `.flash/dev.json`: where the project's `flash dev` listens, for scripts that call functions by it. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import * as z from "zod";
import { FLASH_DIRECTORY } from "../project/flash-directory.ts";

const FILE = "dev.json";
const devServerSchema = z.object({ url: z.string(), pid: z.number() });

export async function writeDevServerUrl(directory: string, url: string): Promise<void> {
  await writeFileAtomic(pathIn(directory), `${JSON.stringify({ url, pid: process.pid })}\n`);
}

/** Another one of the same project may have told its own by now. What cannot be removed stays: its process is gone. */
export async function removeDevServerUrl(directory: string): Promise<void> {
  const path = pathIn(directory);
  try {
    const { pid } = devServerSchema.parse(JSON.parse(await readFile(path, "utf8")));
    if (pid === process.pid) await rm(path, { force: true });
  } catch {
    // It is gone, or is none of ours.
  }
}

function pathIn(directory: string): string {
  return join(directory, FLASH_DIRECTORY, FILE);
}

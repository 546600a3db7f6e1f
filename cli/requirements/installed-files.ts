/** Reduces an installation to what belongs in an artifact, reproducibly on every computer. */
import { open, readFile, rm, writeFile } from "node:fs/promises";
import { join, normalize, sep } from "node:path";
import { filesOf } from "../core/files.ts";
import type { Survey } from "./python-requirements.ts";

/** Metadata of this computer or of the tool, which nothing needs at run time. */
const TOOL_FILES = /\.dist-info\/(INSTALLER|REQUESTED|direct_url\.json|uv_cache\.json|uv_build\.json)$/;
const BYTECODE = /(^|\/)__pycache__\/|\.py[co]$/;
const TOOL_LOCK = /^\.lock$/;
const SCRIPT = /^bin\//;

/** Removes superfluous packages, bytecode, and everything that differs between two installations. */
export async function tidyInstallation(directory: string, { distributions }: Survey): Promise<void> {
  for (const { files } of distributions.filter(({ isSuperfluous }) => isSuperfluous)) {
    const within = files.map((file) => normalize(file)).filter((file) => isWithin(file));
    for (const file of within) await rm(join(directory, file), { force: true });
  }
  for (const file of await filesOf(directory)) {
    const isOfTool = TOOL_FILES.test(file) || BYTECODE.test(file) || TOOL_LOCK.test(file);
    if (isOfTool || (SCRIPT.test(file) && (await isPythonScript(join(directory, file))))) {
      await rm(join(directory, file));
    }
  }
  const left = await filesOf(directory);
  const present = new Set(left);
  for (const record of left.filter((file) => file.endsWith(".dist-info/RECORD"))) {
    await tidyRecord(join(directory, record), present);
  }
}

/** Writes a new file, since the old one may be a hard link into the cache of uv. */
async function tidyRecord(path: string, present: ReadonlySet<string>): Promise<void> {
  const lines = (await readFile(path, "utf8")).split(/\r?\n/);
  const entries = lines.filter((line) => present.has(recordedFile(line))).sort();
  await rm(path);
  await writeFile(path, entries.map((line) => `${line}\n`).join(""));
}

/** The first field of a line of comma-separated values. */
function recordedFile(line: string): string {
  const quoted = /^"((?:[^"]|"")*)"/.exec(line)?.[1];
  return quoted?.replaceAll('""', '"') ?? line.split(",", 1)[0] ?? "";
}

/** Whether the first line names a Python interpreter of this computer. */
async function isPythonScript(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0);
    const head = buffer.toString("latin1", 0, bytesRead);
    return head.startsWith("#!") && /python/i.test(head);
  } finally {
    await file.close();
  }
}

function isWithin(path: string): boolean {
  return !path.startsWith("..") && !path.startsWith(sep);
}

/** The Python package that goes into every artifact. */
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sdkDirectory } from "../discovery/sdk-directory.ts";
import { filesOf } from "./archive.ts";
import { SDK_PACKAGE } from "../requirements/exclusions.ts";

/** Bytecode, and the command itself where pip has installed it. */
const NOT_SHIPPED = /(^|\/)__pycache__\/|\.py[co]$|^_cli\//;

export async function copySdk(into: string): Promise<void> {
  const from = sdkDirectory();
  for (const file of await filesOf(join(from, SDK_PACKAGE))) {
    if (NOT_SHIPPED.test(file)) continue;
    const target = join(into, SDK_PACKAGE, file);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(join(from, SDK_PACKAGE, file), target);
  }
}

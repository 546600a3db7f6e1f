/** The Python package that goes into every artifact. */
import { existsSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { filesOf } from "./archive.ts";

const PACKAGE = "edgerun";
/** Beside the bundled command, in the repository, or around the command where pip has installed both. */
const PLACES = ["./python/", "../../sdk/python/src/", "../../"];
/** Bytecode, and the command itself. */
const NOT_SHIPPED = /(^|\/)__pycache__\/|\.py[co]$|^_cli\//;

/** The directory that holds `edgerun`. */
export function sdkDirectory(): string {
  const places = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const found = places.find((place) => existsSync(join(place, PACKAGE)));
  if (found === undefined) throw new Error(`the package ${PACKAGE} is in none of ${places.join(", ")}`);
  return found;
}

export async function copySdk(into: string): Promise<void> {
  const from = sdkDirectory();
  for (const file of await filesOf(join(from, PACKAGE))) {
    if (NOT_SHIPPED.test(file)) continue;
    const target = join(into, PACKAGE, file);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(join(from, PACKAGE, file), target);
  }
}

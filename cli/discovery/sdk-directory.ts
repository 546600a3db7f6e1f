import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Beside the bundled command, in the repository, or around the command where pip has installed both. */
const PLACES = ["./python/", "../../sdk/python/src/", "../../"];

/** The command's own copy of the Python package: the directory that holds `edgerun`. */
export function sdkDirectory(): string {
  const places = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const found = places.find((place) => existsSync(join(place, "edgerun")));
  if (found === undefined) throw new Error(`the package edgerun is in none of ${places.join(", ")}`);
  return found;
}

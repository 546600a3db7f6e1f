import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Beside the bundled command, or as the repository lays it out. */
const PLACES = ["./standalone/", "../../dist/cli/standalone/"];

/** What scripts/bundle/standalone-bundle.ts has laid out. */
export function standaloneDirectory(): string {
  const places = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error(`the local edge is in none of ${places.join(", ")}`);
  return found;
}

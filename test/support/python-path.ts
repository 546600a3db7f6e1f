import { spawnSync } from "node:child_process";
import { delimiter, dirname } from "node:path";

/**
 * The PATH with the Python that `python3` stands for before it. The `python3` of a version manager is a script that looks
 * for it at every start, which takes longer than Python's own start.
 */
export function pathWithPython(path: string): string {
  const { stdout } = spawnSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" });
  const folder = dirname(stdout?.trim() ?? "");
  const isKnown = folder === "." || path.split(delimiter).includes(folder);
  return isKnown ? path : folder + delimiter + path;
}

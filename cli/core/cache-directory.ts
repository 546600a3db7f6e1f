import { homedir } from "node:os";
import { join } from "node:path";

/** The user's directory for files that can be fetched or built again. */
export function cacheDirectory(environment: Readonly<Record<string, string | undefined>>): string {
  const home = environment["HOME"] || homedir();
  const base =
    environment["XDG_CACHE_HOME"] ||
    (process.platform === "win32" ? environment["LOCALAPPDATA"] : undefined) ||
    (process.platform === "darwin" ? join(home, "Library", "Caches") : join(home, ".cache"));
  return join(base, "edgerun");
}

/** Where Node caches the compiled code of the command, for a faster start. */
export function compiledDirectory(environment: Readonly<Record<string, string | undefined>>): string {
  return join(cacheDirectory(environment), "compiled");
}

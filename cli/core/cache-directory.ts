import { homedir } from "node:os";
import { join } from "node:path";

/** Of this person, for what can be had again. */
export function cacheDirectory(environment: Readonly<Record<string, string | undefined>>): string {
  const home = environment["HOME"] || homedir();
  const base =
    environment["XDG_CACHE_HOME"] ||
    (process.platform === "win32" ? environment["LOCALAPPDATA"] : undefined) ||
    (process.platform === "darwin" ? join(home, "Library", "Caches") : join(home, ".cache"));
  return join(base, "edgerun");
}

/** Where Node keeps what it has compiled of the command, so that the next start of it need not. */
export function compiledDirectory(environment: Readonly<Record<string, string | undefined>>): string {
  return join(cacheDirectory(environment), "compiled");
}

/** Which Python runs an app's files where the host's own is used. */
import { access, constants, readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { flashManifestSchema, MANIFEST_FILE } from "../../../src/contract/flash/flash-manifest.ts";

const VERSION = /^3\.\d{1,2}$/;

/**
 * The command of a worker of an app: the interpreter of the wanted version where the host has it. `appPath` is null
 * where the app's files are not on the host.
 */
export async function runtimeCommand(
  appPath: string | null,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  return [await interpreter(appPath, env), "-m", "edgerun.runtime"];
}

async function interpreter(
  appPath: string | null,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (env["FLASH_PYTHON"]) return env["FLASH_PYTHON"];
  const version = env["FLASH_PYTHON_VERSION"] ?? (await manifestVersion(appPath)) ?? "";
  const exact = `python${version}`;
  return VERSION.test(version) && (await isOnPath(exact, env["PATH"] ?? "")) ? exact : "python3";
}

async function manifestVersion(appPath: string | null): Promise<string | undefined> {
  if (appPath === null) return undefined;
  const text = await readFile(join(appPath, MANIFEST_FILE), "utf8").catch(() => "null");
  try {
    return flashManifestSchema.safeParse(JSON.parse(text)).data?.python_version;
  } catch {
    return undefined; // what it holds is between the build and the worker
  }
}

async function isOnPath(name: string, path: string): Promise<boolean> {
  const places = path.split(delimiter).filter((directory) => directory !== "");
  const checks = places.map((directory) => access(join(directory, name), constants.X_OK));
  return (await Promise.allSettled(checks)).some(({ status }) => status === "fulfilled");
}
